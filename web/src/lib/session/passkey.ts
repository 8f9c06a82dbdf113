/** Passkeys: creating them and signing in with them (WebAuthn). */
import { api, unwrap } from '$lib/api/client';

/** Whether this browser and this address support passkeys: they need a host name, not an IP address. */
export const passkeysSupported = (): boolean => 'PublicKeyCredential' in window && !/^[\d.]+$|^\[/.test(location.hostname);

type CredentialJson = Record<string, unknown>;

/** Create a passkey for this site; null if the person cancelled. */
export async function createPasskey(): Promise<CredentialJson | null> {
	const options = (await unwrap(api.POST('/api/passkeys/options'))) as unknown as PublicKeyCredentialCreationOptionsJSON;
	const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
	return toJson(navigator.credentials.create({ publicKey }));
}

/** Sign the server's challenge with a passkey; null if the person cancelled. */
export async function signWithPasskey(): Promise<CredentialJson | null> {
	const options = (await unwrap(api.POST('/api/session/passkey/options'))) as unknown as PublicKeyCredentialRequestOptionsJSON;
	const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
	return toJson(navigator.credentials.get({ publicKey }));
}

async function toJson(credential: Promise<Credential | null>): Promise<CredentialJson | null> {
	try {
		return ((await credential) as PublicKeyCredential | null)?.toJSON() ?? null;
	} catch (error) {
		if (error instanceof DOMException) return null;
		throw error;
	}
}

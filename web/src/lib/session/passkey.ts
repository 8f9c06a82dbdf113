/** Passkeys as the browser makes and uses them. */
import { api, told } from '$lib/api/client';

/** Whether this browser and this address allow passkeys: a bare number is no name to keep a key under. */
export const able = (): boolean => 'PublicKeyCredential' in window && !/^[\d.]+$|^\[/.test(location.hostname);

type Given = Record<string, unknown>;

/** A new key for this place; null when the person broke it off. */
export async function made(): Promise<Given | null> {
	const asked = (await told(api.POST('/api/passkeys/options'))) as unknown as PublicKeyCredentialCreationOptionsJSON;
	const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(asked);
	return given(navigator.credentials.create({ publicKey }));
}

/** A signature of a key that this browser holds; null when the person broke it off. */
export async function signed(): Promise<Given | null> {
	const asked = (await told(api.POST('/api/session/passkey/options'))) as unknown as PublicKeyCredentialRequestOptionsJSON;
	const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(asked);
	return given(navigator.credentials.get({ publicKey }));
}

async function given(asked: Promise<Credential | null>): Promise<Given | null> {
	try {
		return ((await asked) as PublicKeyCredential | null)?.toJSON() ?? null;
	} catch (error) {
		if (error instanceof DOMException) return null;
		throw error;
	}
}

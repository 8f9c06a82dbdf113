"""Routes for signing in with a passkey (WebAuthn) or through Cloudflare Access."""

import ipaddress
from datetime import datetime
from functools import lru_cache
from typing import Annotated, Any

import jwt
from fastapi import APIRouter, Header, Request, Response
from pydantic import BaseModel, Field
from webauthn import (
    generate_authentication_options,
    generate_registration_options,
    verify_authentication_response,
    verify_registration_response,
)
from webauthn.helpers import (
    base64url_to_bytes,
    bytes_to_base64url,
    options_to_json_dict,
    parse_client_data_json,
)
from webauthn.helpers.exceptions import WebAuthnException
from webauthn.helpers.structs import (
    AuthenticatorSelectionCriteria,
    PublicKeyCredentialDescriptor,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from everloop.access import (
    ACCESS_STREAM,
    AddPasskey,
    Passkey,
    RemovePasskey,
    UsePasskey,
    load_access,
    pair_device,
)
from everloop.errors import Forbidden, Invalid, NotFound, Unavailable
from everloop.interfaces.http.dependencies import ActorDep, Dependencies, Deps
from everloop.interfaces.http.errors import ERROR_RESPONSES
from everloop.interfaces.http.routes.session import SignedIn, guess_device_name, signed_in
from everloop.log import Context, from_microseconds

router = APIRouter(prefix="/api", responses=ERROR_RESPONSES, tags=["access"])

ALGORITHMS = {"RS256", "ES256"}
KEYS_TIMEOUT_S = 5
PASSKEY_REFUSED = "this passkey is not accepted"


class PasskeyOut(BaseModel):
    """A registered passkey."""

    credential: str
    name: str
    site: str
    since: datetime


class NewPasskey(BaseModel):
    """The browser's WebAuthn response, and a name for the passkey or device."""

    credential: dict[str, Any]
    name: Annotated[str, Field(max_length=200)] = ""


@router.get("/passkeys")
def passkeys(deps: Deps) -> list[PasskeyOut]:
    """List passkeys, newest first."""
    known = load_access(deps.engine.log).passkeys.values()
    return [_passkey_out(one) for one in sorted(known, key=lambda one: -one.position)]


@router.post("/passkeys/options")
def registering(request: Request, deps: Deps) -> dict[str, Any]:
    """WebAuthn options for creating a passkey."""
    site = _site(request)
    known = load_access(deps.engine.log).passkeys.values()
    options = generate_registration_options(
        rp_id=site,
        rp_name="Everloop",
        user_name="you",
        user_id=b"everloop",
        challenge=deps.challenges.issue(),
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.REQUIRED,  # sign-in does not name a key
            user_verification=UserVerificationRequirement.REQUIRED,
        ),
        exclude_credentials=_descriptors([one for one in known if one.site == site]),
    )
    return options_to_json_dict(options)


@router.post("/passkeys", status_code=201)
def register(new: NewPasskey, request: Request, deps: Deps, by: ActorDep) -> PasskeyOut:
    """Register a passkey. Any browser that has it can then sign in."""
    site = _site(request)
    try:
        made = verify_registration_response(
            credential=new.credential,
            expected_challenge=_challenge(deps, new.credential),
            expected_rp_id=site,
            expected_origin=_origin(request, deps),
            require_user_verification=True,
        )
    except (WebAuthnException, ValueError, TypeError, KeyError) as problem:
        raise Invalid(
            f"the passkey could not be verified: {problem}", hint="Try again."
        ) from problem
    credential = bytes_to_base64url(made.credential_id)
    public_key = bytes_to_base64url(made.credential_public_key)
    command = AddPasskey(credential, public_key, made.sign_count, new.name or "a passkey", site)
    deps.engine.do(command, by=by)
    return _passkey_out(load_access(deps.engine.log).passkeys[credential])


@router.delete("/passkeys/{credential}", status_code=204)
def remove(credential: str, deps: Deps, by: ActorDep) -> None:
    """Remove a passkey. Devices that signed in with it stay until they are revoked."""
    deps.engine.do(RemovePasskey(credential), by=by)


@router.post("/session/passkey/options")
def opening(request: Request, deps: Deps) -> dict[str, Any]:
    """WebAuthn options for signing in. They do not reveal which passkeys exist."""
    deps.sign_in_limit.count(request)
    options = generate_authentication_options(
        rp_id=_site(request),
        challenge=deps.challenges.issue(),
        user_verification=UserVerificationRequirement.REQUIRED,
    )
    return options_to_json_dict(options)


@router.post("/session/passkey")
def open_by_passkey(new: NewPasskey, request: Request, response: Response, deps: Deps) -> SignedIn:
    """Sign this device in with a passkey."""
    deps.sign_in_limit.count(request)
    key = load_access(deps.engine.log).passkeys.get(str(new.credential.get("id", "")))
    challenge = _challenge(deps, new.credential)
    if key is None or key.site != _site(request):
        raise Forbidden(PASSKEY_REFUSED, hint="Add it from a device that is signed in.")
    try:
        signed = verify_authentication_response(
            credential=new.credential,
            expected_challenge=challenge,
            expected_rp_id=key.site,
            expected_origin=_origin(request, deps),
            credential_public_key=base64url_to_bytes(key.public_key),
            credential_current_sign_count=key.sign_count,
            require_user_verification=True,
        )
    except (WebAuthnException, ValueError, TypeError, KeyError) as problem:
        raise Forbidden(PASSKEY_REFUSED, hint="Pair the device with a code instead.") from problem
    command = UsePasskey(key.credential, signed.new_sign_count)
    deps.engine.do(command, by=Context(actor="user"))
    return _sign_in(deps, request, response, new.name, way="passkey", via=key.credential)


@router.post("/session/proxy")
def open_by_proxy(
    request: Request,
    response: Response,
    deps: Deps,
    cf_access_jwt_assertion: Annotated[str, Header()] = "",
) -> SignedIn:
    """Sign this device in with a Cloudflare Access token."""
    deps.sign_in_limit.count(request)
    place = deps.running.settings.serve
    if not (place.access_url and place.access_audience):
        raise NotFound(
            "Cloudflare Access is not set up",
            hint="Set `serve.access_url` and `serve.access_audience`.",
        )
    person = _verify_access_token(
        cf_access_jwt_assertion, place.access_url.rstrip("/"), place.access_audience
    )
    deps.engine.log.create_tree(ACCESS_STREAM, actor="user")
    return _sign_in(deps, request, response, "", way="proxy", via=person)


def _sign_in(
    deps: Dependencies, request: Request, response: Response, name: str, *, way: str, via: str
) -> SignedIn:
    engine = deps.engine
    device_name = name or guess_device_name(request.headers.get("user-agent", ""))
    credential = pair_device(engine, engine.ports, device_name, way=way, via=via)
    return signed_in(response, deps, credential)


def _verify_access_token(token: str, issuer: str, audience: str) -> str:
    """Verify a Cloudflare Access token and return its user."""
    try:
        key = _signing_keys(f"{issuer}/cdn-cgi/access/certs").get_signing_key_from_jwt(token)
        claims = jwt.decode(
            token,
            key.key,
            algorithms=sorted(ALGORITHMS),
            audience=audience,
            issuer=issuer,
            options={"require": ["exp", "iat", "aud", "iss", "sub"]},
        )
    except jwt.PyJWKClientConnectionError as problem:
        raise Unavailable(
            "Cloudflare Access cannot be reached", hint="Try again later."
        ) from problem
    except jwt.PyJWTError as problem:
        raise Forbidden(
            "the Cloudflare Access token is missing or invalid",
            hint="Open Everloop through its Cloudflare tunnel.",
        ) from problem
    person = str(claims.get("email") or claims["sub"] or "").strip()
    if not person:
        raise Forbidden(
            "the Cloudflare Access token names nobody",
            hint="Sign in to Cloudflare Access as a person, not with a service token.",
        )
    return person


@lru_cache(maxsize=4)
def _signing_keys(url: str) -> jwt.PyJWKClient:
    return jwt.PyJWKClient(url, cache_keys=True, timeout=KEYS_TIMEOUT_S)


def _site(request: Request) -> str:
    """The relying party id: the host name browsers store passkeys under. IPs are not allowed."""
    host = request.url.hostname or ""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host.lower()
    raise Invalid(
        "passkeys need a host name, not an IP address", hint="Open http://localhost instead."
    )


def _origin(request: Request, deps: Dependencies) -> str:
    scheme = "https" if deps.rules.secure else "http"
    return f"{scheme}://{request.headers['host'].lower()}"


def _challenge(deps: Dependencies, credential: dict[str, Any]) -> bytes:
    """The signed challenge; it must be one that was issued here and not used yet."""
    try:
        client_data = base64url_to_bytes(credential["response"]["clientDataJSON"])
        challenge = parse_client_data_json(client_data).challenge
    except (WebAuthnException, ValueError, TypeError, KeyError, AttributeError) as problem:
        raise Invalid("this is not a WebAuthn response", hint="Try again.") from problem
    if not deps.challenges.consume(challenge):
        raise Forbidden("the passkey challenge has expired or was already used", hint="Try again.")
    return challenge


def _descriptors(known: list[Passkey]) -> list[PublicKeyCredentialDescriptor]:
    return [PublicKeyCredentialDescriptor(id=base64url_to_bytes(one.credential)) for one in known]


def _passkey_out(key: Passkey) -> PasskeyOut:
    since = from_microseconds(key.since_us)
    return PasskeyOut(credential=key.credential, name=key.name, site=key.site, since=since)

"""Coming in without a code: by a passkey, or because Cloudflare Access vouches for the person."""

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

from everloop.access import credentials
from everloop.access.commands import AddPasskey, RemovePasskey, UsePasskey
from everloop.access.state import STREAM, Passkey
from everloop.errors import Forbidden, Invalid, NotFound, Unavailable
from everloop.interfaces.http.dependencies import House, HouseDep, SpeakerDep
from everloop.interfaces.http.errors import PROBLEMS
from everloop.interfaces.http.routes.session import DeviceOut, guess, keep, shown
from everloop.log import Context
from everloop.log.model.record import moment

router = APIRouter(prefix="/api", responses=PROBLEMS, tags=["access"])

SIGNED = {"RS256", "ES256"}
WAIT_S = 5
REFUSED = "this passkey does not open anything"


class PasskeyOut(BaseModel):
    """A key that opens."""

    credential: str
    name: str
    site: str
    since: datetime


class NewPasskey(BaseModel):
    """What the browser gave, and what the key is to be called."""

    credential: dict[str, Any]
    name: Annotated[str, Field(max_length=200)] = ""


@router.get("/passkeys")
def passkeys(house: HouseDep) -> list[PasskeyOut]:
    """Every passkey, the newest first."""
    known = credentials.doors(house.engine.log).passkeys.values()
    return [_out(one) for one in sorted(known, key=lambda one: -one.position)]


@router.post("/passkeys/options")
def registering(request: Request, house: HouseDep) -> dict[str, Any]:
    """What a browser needs to make a passkey for this place."""
    site = _site(request)
    known = credentials.doors(house.engine.log).passkeys.values()
    options = generate_registration_options(
        rp_id=site,
        rp_name="Everloop",
        user_name="you",
        user_id=b"everloop",
        challenge=house.challenges.new(),
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.REQUIRED,  # who signs in names no key
            user_verification=UserVerificationRequirement.REQUIRED,
        ),
        exclude_credentials=_these([one for one in known if one.site == site]),
    )
    return options_to_json_dict(options)


@router.post("/passkeys", status_code=201)
def register(new: NewPasskey, request: Request, house: HouseDep, by: SpeakerDep) -> PasskeyOut:
    """Take a passkey in. It then signs in any browser that holds it."""
    site = _site(request)
    try:
        made = verify_registration_response(
            credential=new.credential,
            expected_challenge=_challenge(house, new.credential),
            expected_rp_id=site,
            expected_origin=_origin(request, house),
            require_user_verification=True,
        )
    except (WebAuthnException, ValueError, TypeError, KeyError) as problem:
        raise Invalid(f"this passkey was not made here: {problem}", hint="Try again.") from problem
    credential = bytes_to_base64url(made.credential_id)
    public_key = bytes_to_base64url(made.credential_public_key)
    command = AddPasskey(credential, public_key, made.sign_count, new.name or "a passkey", site)
    house.engine.do(command, by=by)
    return _out(credentials.doors(house.engine.log).passkeys[credential])


@router.delete("/passkeys/{credential}", status_code=204)
def remove(credential: str, house: HouseDep, by: SpeakerDep) -> None:
    """Let a passkey open nothing any more. Devices that it let in stay until they are revoked."""
    house.engine.do(RemovePasskey(credential), by=by)


@router.post("/session/passkey/options")
def opening(request: Request, house: HouseDep) -> dict[str, Any]:
    """What a browser needs to sign in with a passkey. It does not say which ones there are."""
    house.knocks.count(request)
    options = generate_authentication_options(
        rp_id=_site(request),
        challenge=house.challenges.new(),
        user_verification=UserVerificationRequirement.REQUIRED,
    )
    return options_to_json_dict(options)


@router.post("/session/passkey")
def open_by_passkey(
    new: NewPasskey, request: Request, response: Response, house: HouseDep
) -> DeviceOut:
    """Let this device in with a passkey."""
    house.knocks.count(request)
    key = credentials.doors(house.engine.log).passkeys.get(str(new.credential.get("id", "")))
    challenge = _challenge(house, new.credential)
    if key is None or key.site != _site(request):
        raise Forbidden(REFUSED, hint="Add it from a signed-in device.")
    try:
        signed = verify_authentication_response(
            credential=new.credential,
            expected_challenge=challenge,
            expected_rp_id=key.site,
            expected_origin=_origin(request, house),
            credential_public_key=base64url_to_bytes(key.public_key),
            credential_current_sign_count=key.sign_count,
            require_user_verification=True,
        )
    except (WebAuthnException, ValueError, TypeError, KeyError) as problem:
        raise Forbidden(REFUSED, hint="Pair the device with a code instead.") from problem
    command = UsePasskey(key.credential, signed.new_sign_count)
    house.engine.do(command, by=Context(actor="user"))
    return _let_in(house, request, response, new.name, way="passkey", via=key.credential)


@router.post("/session/proxy")
def open_by_proxy(
    request: Request,
    response: Response,
    house: HouseDep,
    cf_access_jwt_assertion: Annotated[str, Header()] = "",
) -> DeviceOut:
    """Let this device in because Cloudflare Access vouches for the person."""
    house.knocks.count(request)
    place = house.running.settings.serve
    if not (place.access_url and place.access_audience):
        raise NotFound("no proxy vouches for anybody here", hint="Set `serve.access_url`.")
    person = _vouched(cf_access_jwt_assertion, place.access_url.rstrip("/"), place.access_audience)
    house.engine.log.plant(STREAM, actor="user")
    return _let_in(house, request, response, "", way="proxy", via=person)


def _let_in(
    house: House, request: Request, response: Response, name: str, *, way: str, via: str
) -> DeviceOut:
    engine = house.engine
    called = name or guess(request.headers.get("user-agent", ""))
    credential = credentials.pair(engine.do, engine.world, called, way=way, via=via)
    keep(response, house, credential)
    paired = credentials.doors(engine.log).devices[credential.device_id]
    return shown(paired, credential.device_id, house)


def _vouched(token: str, issuer: str, audience: str) -> str:
    """The person that a token speaks for."""
    try:
        key = _signers(f"{issuer}/cdn-cgi/access/certs").get_signing_key_from_jwt(token)
        claims = jwt.decode(
            token,
            key.key,
            algorithms=sorted(SIGNED),
            audience=audience,
            issuer=issuer,
            options={"require": ["exp", "iat", "aud", "iss", "sub"]},
        )
    except jwt.PyJWKClientConnectionError as problem:
        raise Unavailable("Cloudflare Access cannot be asked", hint="Try later.") from problem
    except jwt.PyJWTError as problem:
        raise Forbidden(
            "Cloudflare Access does not vouch for you", hint="Open Everloop through its tunnel."
        ) from problem
    return str(claims.get("email") or claims["sub"])


@lru_cache(maxsize=4)
def _signers(url: str) -> jwt.PyJWKClient:
    return jwt.PyJWKClient(url, cache_keys=True, timeout=WAIT_S)


def _site(request: Request) -> str:
    """The name under which browsers keep keys for this place. An address is no name."""
    host = request.url.hostname or ""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host.lower()
    raise Invalid("a passkey needs a name, not an address", hint="Open http://localhost instead.")


def _origin(request: Request, house: House) -> str:
    scheme = "https" if house.rules.secure else "http"
    return f"{scheme}://{request.headers['host'].lower()}"


def _challenge(house: House, credential: dict[str, Any]) -> bytes:
    """The challenge that was signed, if it is one of ours and was not used before."""
    try:
        said = base64url_to_bytes(credential["response"]["clientDataJSON"])
        challenge = parse_client_data_json(said).challenge
    except (WebAuthnException, ValueError, TypeError, KeyError, AttributeError) as problem:
        raise Invalid("this is no answer of a passkey", hint="Try again.") from problem
    if not house.challenges.take(challenge):
        raise Forbidden("this was signed too late, or used before", hint="Try again.")
    return challenge


def _these(known: list[Passkey]) -> list[PublicKeyCredentialDescriptor]:
    return [PublicKeyCredentialDescriptor(id=base64url_to_bytes(one.credential)) for one in known]


def _out(key: Passkey) -> PasskeyOut:
    since = moment(key.since_us)
    return PasskeyOut(credential=key.credential, name=key.name, site=key.site, since=since)

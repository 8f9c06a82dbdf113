"""Which settings can be changed in the browser, and why the others cannot.

A number, a switch or a choice can be changed unless it is listed as fixed; free text only if it is
listed as safe. A section that is not listed here at all is fixed, so a new one has to be thought
about first.
"""

import msgspec

from everloop.settings import SettingDescription, is_set_in_environment

SIGN_IN = "It protects sign-in and who can connect."
GATE = "It decides how much trust a lesson needs."
ADDRESS = "It decides where your data is sent."
SECRET = "It is a secret."  # noqa: S105 - a sentence, not a secret
PLACE = "It decides where your data is stored."
LOG = "A wrong value could keep Everloop from recording anything."
ANSWERS = "It decides who answers for you."
COMMANDS = "It starts programs on the computer that runs Everloop."
MODELS = "Change it in the section Models above."
WHERE = "Change it in settings.toml and restart Everloop."

_SECTIONS = frozenset(
    [
        "backups",
        "capture",
        "doors",
        "exchange",
        "github",
        "hooks",
        "inbox",
        "lessons",
        "manifest",
        "memory",
        "models",
        "notifications",
        "observe",
        "sentiment",
        "sink",
        "thread",
        "voice",
        "workers",
        "worlds",
    ]
)
_SAFE_TEXT = frozenset(
    {
        "github.label",
        "memory.endpoint_model",
        "models.anthropic_model",
        "models.claude_model",
        "models.openai_model",
        "models.openrouter_model",
        "sink.location",
        "voice.call_about",
        "voice.language",
        "voice.tts_provider",
        "voice.tts_voice",
        "workers.claude_model",
        "workers.kubernetes.cpu_limit",
        "workers.kubernetes.cpu_request",
        "workers.kubernetes.disk",
        "workers.kubernetes.memory_limit",
        "workers.kubernetes.memory_request",
    }
)
_ALSO = frozenset({"serve.beat_s", "serve.import_bytes_max"})
_FIXED = {  # a name, or a section with its dot: why it is fixed
    "home": PLACE,
    "store": PLACE,
    "log.": LOG,
    "serve.": SIGN_IN,
    "doors.admit_hosts": SIGN_IN,
    "sink.endpoint": ADDRESS,
    "memory.endpoint": ADDRESS,
    "memory.hub_model": ADDRESS,
    "tools": COMMANDS,
    "github.repositories": COMMANDS,
    "github.owner": ANSWERS,
    "github.comment_answers": ANSWERS,
    "models.narrative": MODELS,
    "models.classifier": MODELS,
    **dict.fromkeys(
        (
            "lessons.age_hours_min",
            "lessons.uses_min",
            "lessons.supports_min",
            "lessons.origins_min",
            "lessons.relayed_per_day_max",
            "lessons.citations_min",
            "sentiment.positive_min",
            "sentiment.negative_min",
            "sentiment.judge_min",
            "sentiment.cooldown_s",
            "sentiment.interrupt_within_s",
            "sentiment.interrupt_confidence",
            "sentiment.host_versions",
        ),
        GATE,
    ),
    **dict.fromkeys(
        (
            "voice.account",
            "voice.number",
            "voice.callers",
            "voice.call_to",
            "voice.pin_tries_max",
            "voice.pin_failures_max",
            "voice.pin_lock_s",
            "voice.pin_wait_s",
            "voice.token_lives_s",
        ),
        SIGN_IN,
    ),
}
_AT_ONCE = ("models.", "thread.answer.", "thread.context.", "thread.imports.", "hooks.")


class ChangePolicy(msgspec.Struct, frozen=True):
    """How a setting can be changed in the browser. `fixed_because` is empty if it can be."""

    fixed_because: str
    restart: bool  # whether a change takes effect at the next start only


def change_policy(setting: SettingDescription) -> ChangePolicy:
    """How a setting can be changed in the browser."""
    restart = not setting.name.startswith(_AT_ONCE)
    if reason := _fixed_because(setting):
        return ChangePolicy(reason if reason == MODELS else f"{reason} {WHERE}", restart)
    if is_set_in_environment(setting.variable):
        variable = f"The environment variable {setting.variable} sets it."
        return ChangePolicy(f"{variable} Unset it and restart Everloop.", restart)
    return ChangePolicy("", restart)


def _fixed_because(setting: SettingDescription) -> str:
    name, section = setting.name, setting.name.partition(".")[0]
    if name in _ALSO:
        return ""
    if name.endswith("_key"):
        return SECRET
    if name.endswith("_url"):
        return MODELS if section == "models" else ADDRESS
    listed = _FIXED.get(name) or _FIXED.get(f"{section}.")
    if listed:
        return listed
    if section not in _SECTIONS or (setting.kind == "text" and name not in _SAFE_TEXT):
        return "It is not known to be safe to change here."
    return ""

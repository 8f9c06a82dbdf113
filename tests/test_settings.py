"""Settings from defaults, file and environment."""

from pathlib import Path

import pytest

from everloop.errors import Invalid
from everloop.memory.settings import MemorySettings
from everloop.settings import FILE, Settings, describe_settings, hide_password, load


def test_the_environment_overrides_the_file_which_overrides_the_default(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("[backups]\nkept = 3\nevery_events = 5\n")
    settings = load({"EVERLOOP_HOME": str(tmp_path), "EVERLOOP_BACKUPS_KEPT": "4"})
    plan = settings.backups
    assert (plan.kept, plan.every_events, plan.every_minutes) == (4, 5, 1_440.0)


def test_loop_home_is_used_if_everloop_home_is_not_set() -> None:
    assert load({"LOOP_HOME": "/there"}).home == "/there"
    assert load({"LOOP_HOME": "/there", "EVERLOOP_HOME": "/here"}).home == "/here"
    assert load({"EVERLOOP_HOME": "/here"}, home="/asked-for").home == "/asked-for"
    assert load({}).folder == Path.home() / ".everloop"


@pytest.mark.parametrize(
    "environment",
    [
        {"EVERLOOP_NONSENSE": "1"},
        {"EVERLOOP_LOG_NONSENSE": "1"},
        {"EVERLOOP_LOG_POLL_S": "0"},
        {"EVERLOOP_BACKUPS_KEPT": "many"},
    ],
    ids=str,
)
def test_an_invalid_setting_is_refused_with_a_hint(environment: dict[str, str]) -> None:
    with pytest.raises(Invalid) as refusal:
        load({"EVERLOOP_HOME": "/nowhere", **environment})
    assert refusal.value.hint


@pytest.mark.parametrize(
    ("variable", "words"),
    [
        ("MEMORY_EMBEDDER", "memory.embedder cannot be 'x': use granite, endpoint, hub or none"),
        ("DOORS_ADMIT_HOSTS", "doors.admit_hosts cannot be 'x': use all or granted"),
        ("LOG_POLL_S", "log.poll_s cannot be 'x': use a number, above 0"),
        ("MODELS_TRIES", "models.tries cannot be 'x': use a whole number, at least 1"),
        ("SERVE_SECURE", "serve.secure cannot be 'x': use true or false"),
    ],
)
def test_an_invalid_choice_names_the_allowed_values(variable: str, words: str) -> None:
    with pytest.raises(Invalid) as refusal:
        load({"EVERLOOP_HOME": "/nowhere", f"EVERLOOP_{variable}": "x"})
    assert str(refusal.value) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("memory.embeder = 1", "'memory.embeder'; did you mean 'memory.embedder'?"),
        ("thread.context.hrd = 1", "'thread.context.hrd'; did you mean 'thread.context.hard'?"),
        ("nonsense = 1", "'nonsense'"),
        ("tools.files.nonsense = 1", "'tools.NAME.nonsense'"),
    ],
)
def test_an_unknown_setting_is_named_with_the_one_probably_meant(
    tmp_path: Path, text: str, words: str
) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(Invalid) as refusal:
        load({"EVERLOOP_HOME": str(tmp_path)})
    assert str(refusal.value) == f"there is no setting {words}"


def test_a_settings_file_that_is_not_toml_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("kept = = 3")
    with pytest.raises(Invalid):
        load({"EVERLOOP_HOME": str(tmp_path)})


def test_every_setting_is_described() -> None:
    for setting in describe_settings():
        assert setting.meaning.endswith(".")
        assert setting.kind
        assert setting.value == setting.default


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://me@host/db", "postgresql://me@host/db"),
        ("postgresql://me:hush@host/db", "postgresql://me:…@host/db"),
        (
            "postgresql://host/db?user=me&password=hush&x=1",
            "postgresql://host/db?user=me&password=…&x=1",
        ),
        ("postgresql://[bad", "(not a valid URL)"),
    ],
)
def test_a_password_is_hidden(address: str, shown: str) -> None:
    assert hide_password(address) == shown


def test_a_key_is_hidden() -> None:
    secret = Settings(memory=MemorySettings(endpoint_key="hush"))
    assert "hush" not in {setting.value for setting in describe_settings(secret)}


def test_a_setting_in_a_nested_section_has_a_variable() -> None:
    for one in describe_settings():
        if one.kind.startswith("whole number") and one.name.count(".") == 2:
            load({one.variable: str(one.default)}, home="/nowhere")
    found = load({"EVERLOOP_THREAD_IMPORTS_BATCH": "7"}, home="/nowhere")
    assert found.thread.imports.batch == 7


@pytest.mark.parametrize(
    ("variable", "loose", "strict"),
    [
        ("EVERLOOP_LESSONS_AGE_HOURS_MIN", "0", "48"),
        ("EVERLOOP_LESSONS_USES_MIN", "1", "4"),
        ("EVERLOOP_LESSONS_SUPPORTS_MIN", "1", "3"),
        ("EVERLOOP_LESSONS_ORIGINS_MIN", "1", "3"),
        ("EVERLOOP_LESSONS_CITATIONS_MIN", "1", "3"),
        ("EVERLOOP_LESSONS_RELAYED_PER_DAY_MAX", "2", "0"),
        ("EVERLOOP_DOORS_ADMIT_HOSTS", "all", "granted"),
    ],
)
def test_a_variable_can_only_make_the_gate_and_host_access_stricter(
    tmp_path: Path, variable: str, loose: str, strict: str
) -> None:
    written = '[lessons]\nsupports_min = 2\ncitations_min = 2\n[doors]\nadmit_hosts = "granted"\n'
    (tmp_path / "settings.toml").write_text(written)
    load({variable: strict}, home=str(tmp_path))
    with pytest.raises(Invalid, match="an environment variable may not weaken"):
        load({variable: loose}, home=str(tmp_path))


@pytest.mark.promise("P-GITHUB-5")
def test_no_variable_lets_comments_on_github_answer_for_the_user(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text('[github]\nowner = "octo"\n')
    with pytest.raises(Invalid, match=r"may not weaken github\.comment_answers"):
        load({"EVERLOOP_GITHUB_COMMENT_ANSWERS": "true"}, home=str(tmp_path))
    (tmp_path / "settings.toml").write_text('[github]\nowner = "octo"\ncomment_answers = true\n')
    assert load({"EVERLOOP_GITHUB_TOKEN_KEY": "x"}, home=str(tmp_path)).github.comment_answers
    for variable in ("EVERLOOP_GITHUB_OWNER", "EVERLOOP_GITHUB_API_URL"):
        with pytest.raises(Invalid, match="may not weaken"):
            load({variable: "https://mallory.example.org"}, home=str(tmp_path))


@pytest.mark.parametrize("value", ["inf", "-inf", "nan"])
def test_a_setting_is_a_number_that_has_an_end(tmp_path: Path, value: str) -> None:
    with pytest.raises(Invalid):
        load({"EVERLOOP_SENTIMENT_COOLDOWN_S": value}, home=str(tmp_path))
    (tmp_path / "settings.toml").write_text(f"[sentiment]\ncooldown_s = {value}\n")
    with pytest.raises(Invalid):
        load({}, home=str(tmp_path))


def test_every_setting_is_described_as_text_or_a_number() -> None:
    described = describe_settings(Settings())
    values = {one.name: (one.value, one.default) for one in described}
    assert all(isinstance(one, str | int | float) for pair in values.values() for one in pair)
    assert str(values["workers.protected_paths"][0]).startswith("tests/**, ")

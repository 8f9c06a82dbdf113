"""Which test shows which row of the seed (C1 to C59), and which rows are absent on purpose."""

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
ROWS: dict[str, tuple[str, ...]] = {
    "C1": ("worlds/test_turns.py::test_without_a_model_a_scripted_narrator_says_so",),
    "C2": (
        "worlds/properties/test_memory_loss.py::test_a_cue_brings_back_what_was_said_long_ago",
        "worlds/properties/test_decay.py::test_prompts_stay_as_long_and_as_varied_as_they_were",
        "worlds/properties/test_stale_props.py::test_after_the_picnic_the_basket_is_gone_unless_it_was_taken_home",
    ),
    "C4": (
        "worlds/model/test_scenes.py::test_a_third_character_is_refused_with_the_choice_of_whom_to_replace",
        "interfaces/http/routes/worlds/test_worlds.py::test_a_world_opens_from_a_form_with_its_first_scene",
    ),
    "C5": (
        "worlds/model/test_scenes.py::test_a_character_is_authored_revised_removed_and_restored",
        "worlds/test_witness_memory.py::test_a_character_remembers_in_another_world_what_it_witnessed",
    ),
    "C8": ("worlds/test_effects.py::test_a_failing_model_spoils_nothing_and_can_be_asked_again",),
    "C9": (
        "worlds/prompt/test_assemble.py::test_the_speaker_is_told_who_it_is_where_and_with_whom",
        "worlds/model/test_story.py::test_a_condition_changes_only_when_it_differs",
    ),
    "C10": ("worlds/test_effects.py::test_a_reading_changes_the_situation",),
    "C11": (
        "worlds/model/test_story.py::test_an_occupied_or_blocked_slot_is_refused_with_its_reason",
        "worlds/model/test_scenes.py::test_a_place_has_slots_with_names_of_their_own",
    ),
    "C12": ("worlds/model/test_scenes.py::test_scene_texts_are_edited_one_by_one",),
    "C13": ("worlds/model/test_scenes.py::test_a_world_opens_once_at_its_own_time",),
    "C14": (
        "worlds/model/test_story.py::test_feelings_move_by_small_steps_within_bounds",
        "worlds/prompt/test_assemble.py::test_feelings_and_thoughts_of_others_stay_theirs",
    ),
    "C15": ("worlds/model/test_story.py::test_edges_and_the_group_are_summed_up_per_scene",),
    "C16": ("worlds/model/test_scenes.py::test_who_has_met_before_begins_with_a_relationship",),
    "C17": (
        "worlds/model/test_scenes.py::test_who_leaves_in_a_scene_closes_it_and_the_rest_go_on",
    ),
    "C18": ("worlds/test_scene_effects.py::test_an_opening_is_proposed_from_prose",),
    "C19": ("worlds/test_witness_memory.py::test_a_cue_brings_a_memory_back_to_its_witness_alone",),
    "C20": (
        "worlds/test_scene_effects.py::test_a_finished_event_and_learned_facts_are_remembered_by_those_there",
    ),
    "C21": (
        "interfaces/http/routes/worlds/test_worlds.py::test_the_player_corrects_who_witnessed_a_line",
    ),
    "C22": (
        "worlds/properties/test_leaks.py::test_no_prompt_tells_what_its_speaker_did_not_witness",
    ),
    "C23": (
        "worlds/test_scene_effects.py::test_each_witness_gets_a_summary_of_what_they_saw_and_of_nothing_else",
    ),
    "C24": (
        "worlds/test_scene_effects.py::test_a_scene_that_a_model_finds_over_is_closed_if_that_is_set",
        "worlds/model/test_scenes.py::test_a_scene_closes_once",
    ),
    "C25": ("worlds/model/test_story.py::test_an_event_is_planned_started_and_completed_once",),
    "C26": (
        "worlds/model/test_story.py::test_props_go_with_their_event_except_what_someone_acquired",
    ),
    "C27": ("worlds/test_effects.py::test_a_reading_changes_the_situation",),
    "C28": ("worlds/model/test_story.py::test_a_plot_thread_is_known_to_those_present",),
    "C29": (
        "worlds/test_scene_effects.py::test_a_threshold_decides_between_elision_and_jump",
        "worlds/test_scene_effects.py::test_a_jump_leaves_everyone_a_memory_of_their_own",
    ),
    "C30": (
        "worlds/test_scene_effects.py::test_a_meanwhile_scene_gets_a_digest_for_those_who_were_there",
    ),
    "C31": (
        "worlds/test_effects.py::test_a_planned_event_begins_when_its_time_and_place_have_come",
    ),
    "C32": ("worlds/test_effects.py::test_a_reading_changes_the_situation",),
    "C33": (
        "interfaces/http/routes/worlds/test_world_memories.py::test_many_memories_are_rated_at_once_and_a_pivotal_one_is_pinned",
    ),
    "C35": ("worlds/test_witness_memory.py::test_many_memories_are_rated_at_once",),
    "C36": ("worlds/test_witness_memory.py::test_a_cue_brings_a_memory_back_to_its_witness_alone",),
    "C39": (
        "worlds/prompt/test_assemble.py::test_the_least_important_segments_are_left_out_first",
        "worlds/test_effects.py::test_a_turn_of_long_lines_is_read_within_the_budget_of_a_small_model",
    ),
    "C40": (
        "worlds/prompt/test_assemble.py::test_the_least_important_segments_are_left_out_first",
    ),
    "C41": ("worlds/test_service.py::test_the_dialogue_of_a_world_is_its_own",),
    "C42": ("worlds/test_service.py::test_edits_hiding_and_witnesses_show_in_the_story",),
    "C45": ("worlds/test_service.py::test_the_views_rebuilt_equal_the_live_ones",),
    "C46": ("worlds/test_service.py::test_the_views_rebuilt_equal_the_live_ones",),
    "C48": (
        "worlds/properties/test_no_ghosts.py::test_a_changed_line_leaves_the_world_as_if_it_had_been_so",
    ),
    "C49": ("worlds/test_service.py::test_rewinding_takes_back_a_turn_and_all_that_followed",),
    "C50": ("worlds/test_effects.py::test_another_version_takes_all_effects_back",),
    "C51": (
        "interfaces/http/routes/worlds/test_worlds.py::test_a_retracted_line_is_gone_and_comes_back",
    ),
    "C52": (
        "worlds/properties/test_no_ghosts.py::test_switching_branches_switches_all_that_is_told",
    ),
    "C54": ("worlds/exchange/test_exports.py::test_a_world_imports_equal_into_another_home",),
    "C56": (
        "worlds/test_message_parsing.py::test_words_outside_the_story_never_reach_a_character",
        "worlds/test_message_parsing.py::test_who_is_named_is_addressed_and_the_default_otherwise",
    ),
    "C57": (
        "worlds/test_turns.py::test_a_stopped_reply_keeps_its_text_and_says_so",
        "worlds/test_turns.py::test_a_stream_that_breaks_keeps_its_text_and_says_so",
    ),
    "C58": ("worlds/test_effects.py::test_a_broken_answer_is_no_effect",),
    "C59": (
        "worlds/model/test_story.py::test_feelings_move_by_small_steps_within_bounds",
        "worlds/model/test_story.py::test_edges_and_the_group_are_summed_up_per_scene",
    ),
}
ABSENT: dict[str, str] = {
    "C3": "Several devices and hosts are served, each with a credential (docs/http.md).",
    "C6": "A way of working, which no test shows.",
    "C7": "The stack is that of the whole program; there is no HTMX.",
    "C34": "Summaries have no quotes: rendered prose is never kept as memory.",
    "C37": "Meaning is a part of memory's search (tests/memory); vectors are its own.",
    "C38": "Fiction is in no search over everything; a world is searched as someone in it.",
    "C43": "Kinds and upcasters are the log's (tests/log).",
    "C44": "The seed's names of kinds; ours are in docs/events.md.",
    "C47": "Views are never migrated; they are folded again (tests/log).",
    "C53": "Snapshots are a cache of the log; a rewind loses nothing, so none is made before it.",
    "C55": "A character is removed and restored; worlds that it plays in keep it.",
}


def test_every_row_of_the_seed_has_a_test_or_a_reason_for_its_absence() -> None:
    rows = {f"C{number}" for number in range(1, 60)}
    assert ROWS.keys() | ABSENT.keys() == rows
    assert not ROWS.keys() & ABSENT.keys()


def test_every_test_that_shows_a_row_exists() -> None:
    for shown in {each for tests in ROWS.values() for each in tests}:
        path, _, name = shown.partition("::")
        assert re.search(rf"^def {name}\(", (TESTS / path).read_text(), re.MULTILINE), shown

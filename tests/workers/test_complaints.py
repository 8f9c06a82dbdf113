"""What users of other products suffer, each with the tests that make it impossible here.

The index names the tests; each must be there. One row of the list is out of scope here: Kubernetes
(an eviction that counts as a failure) belongs to the runner for it.
"""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
COMPLAINTS: dict[str, tuple[str, ...]] = {
    "push is sent to nobody because something else counts as present": (
        "notifications/test_push.py::test_a_push_is_not_withheld_because_another_device_has_read_it",
        "notifications/test_push.py::test_a_test_message_says_how_it_went",
    ),
    "too many pushes": (
        "notifications/test_push.py::test_each_device_gets_only_the_kinds_it_wants_and_nothing_from_before",
        "notifications/test_push.py::test_a_push_that_a_crash_sends_again_replaces_the_first",
    ),
    "push on a phone silently fails": (
        "notifications/test_push.py::test_the_usual_contact_is_one_that_every_push_service_takes",
        "notifications/test_push.py::test_a_device_that_is_gone_is_no_longer_told",
        "notifications/test_push.py::test_a_refusal_is_recorded_and_not_repeated",
    ),
    "phone stream goes stale after backgrounding": (
        "web/thread/test_reconnect.py::test_a_phone_that_slept_is_up_to_date_within_a_second_despite_a_dead_connection",
        "interfaces/http/streaming/test_stream.py::test_resuming_during_writes_has_no_gaps_and_no_duplicates",
    ),
    "leaving or refreshing loses or truncates the reply": (
        "interfaces/http/streaming/test_stream.py::test_a_client_that_joins_during_an_answer_gets_the_whole_answer_once",
        "turns/test_scheduler.py::test_closing_keeps_the_text_so_far",
    ),
    "sub-agent results lost on restart": (
        "workers/test_reports.py::test_a_result_is_told_once_in_the_thread",
        "workers/test_crashes.py::test_a_command_that_ended_while_the_server_was_away_keeps_its_verdict",
    ),
    "zombie running forever": (
        "workers/test_kills.py::test_killing_server_worker_and_command_at_any_step_loses_and_repeats_nothing",
        "workers/automation/test_background.py::test_a_run_that_has_not_ended_is_not_started_again_and_does_not_wedge_the_schedule",
        "workers/test_crashes.py::test_cancelling_survives_a_restart",
    ),
    "approval never shown or cannot be answered": (
        "workers/test_kills.py::test_killing_server_and_agent_around_an_approval_loses_and_doubles_none",
        "workers/isolation/test_shown_is_run.py::test_what_is_too_long_to_show_cannot_be_allowed_and_holds_nothing_up",
        "inbox/test_service.py::test_of_two_devices_the_first_answers_and_the_second_is_told",
        "workers/test_claude.py::test_an_approval_is_deferred_over_a_restart_and_resumed",
        "workers/test_acp.py::test_an_acp_agent_plans_asks_works_and_is_checked",
    ),
    "a denial is laundered": (
        "workers/test_claude.py::test_a_denial_reaches_the_agent_and_nothing_runs",
        "workers/test_acp.py::test_an_acp_agents_denied_call_does_not_run",
    ),
    "status guessed from terminal text": (
        "workers/test_acp.py::test_an_acp_agents_stop_is_told",
        "workers/test_commands.py::test_the_exit_code_is_the_verdict_and_a_failure_offers_a_retry",
    ),
    "worktree clean-up destroys work": (
        "workers/isolation/test_worktrees.py::test_uncommitted_work_is_committed_to_its_branch_before_a_worktree_goes",
        "workers/isolation/test_sandbox.py::test_a_worker_that_rewrites_git_does_not_make_the_server_run_anything",
    ),
    "runaway fan-out and no budget": (
        "workers/test_claude.py::test_the_budget_of_a_day_pauses_with_what_was_done_and_starts_nothing_else",
        "workers/test_acp.py::test_an_acp_agent_over_its_budget_pauses_with_what_it_has",
        "workers/test_commands.py::test_no_more_tasks_run_at_once_than_the_limit",
    ),
    "compaction silently forgets": (
        "thread/pyramid/test_day_parts.py::test_of_a_day_of_60000_tokens_each_message_is_in_the_prompt_a_summary_or_a_zoom",
    ),
    "cannot search past conversations by content": (
        "thread/test_search.py::test_messages_are_found_by_meaning",
        "thread/test_search.py::test_a_hit_leads_to_its_place_in_the_thread",
    ),
    "forced cloud and no local authentication": (
        "interfaces/http/security/test_middleware.py::test_every_route_requires_a_credential",
        "interfaces/http/routes/test_session.py::test_a_pairing_code_works_once",
    ),
    "features that are theatre": (
        "workers/test_claude.py::test_an_agent_answers_and_its_cost_is_booked",
    ),
    "leaked CLI processes": (
        "workers/test_commands.py::test_nothing_that_a_command_started_outlives_it",
        "workers/test_acp.py::test_an_acp_agent_that_is_cancelled_leaves_nothing_running",
    ),
    "can_use_tool stream closed": (
        "workers/test_claude.py::test_a_question_becomes_a_form_and_the_answer_goes_back",
    ),
    "install weight": (
        "interfaces/http/test_process.py::test_startup_prints_the_address_and_a_pairing_link_and_nothing_else",
    ),
    "scheduler inherits the interactive approval mode": (
        "workers/automation/test_background.py::test_a_schedule_starts_its_task_at_each_due_time_once",
        "workers/automation/test_decide.py::test_an_agent_sets_no_schedule_and_no_start_rule",
    ),
}


@pytest.mark.parametrize("complaint", COMPLAINTS)
def test_this_complaint_is_impossible_here(complaint: str) -> None:
    for named in COMPLAINTS[complaint]:
        path, _, name = named.partition("::")
        assert f"def {name}(" in (ROOT / path).read_text(), named

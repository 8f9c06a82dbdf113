"""What users of other products suffer, each with the tests that make it impossible here.

The indexes name the tests; each must be there. `ACCEPTANCE` has what was asked to be shown as well.
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
        "workers/isolation/test_cleanup.py::test_temporary_files_go_soon_and_the_worktree_after_its_days_with_its_work_kept",
        "workers/isolation/test_cleanup.py::test_what_tasks_take_is_shown_by_task_and_by_the_doctor",
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
        "workers/transcript/test_search.py::test_a_sentence_of_a_tools_output_is_found_six_months_later",
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
    "an eviction is treated as a failure": (
        "workers/kubernetes/test_jobs.py::test_an_evicted_pod_is_uncertain_and_not_a_failure",
        "workers/kubernetes/test_jobs.py::test_a_pod_that_was_evicted_before_it_began_is_tried_again",
    ),
}
ACCEPTANCE: dict[str, tuple[str, ...]] = {
    "a kill leaves each thing exactly where it was and the thread says what happened": (
        "workers/test_kills.py::test_killing_server_worker_and_command_at_any_step_loses_and_repeats_nothing",
        "workers/test_kills.py::test_killing_server_and_agent_around_an_approval_loses_and_doubles_none",
        "workers/test_reports.py::test_a_result_is_told_once_in_the_thread",
    ),
    "of two devices at once one wins and the other is told": (
        "inbox/test_service.py::test_of_two_devices_the_first_answers_and_the_second_is_told",
        "web/workers/test_thread_card.py::test_the_second_device_sees_who_answered_and_that_its_own_answer_does_not_count",
    ),
    "a phone that was closed in the middle of a stream has no gap and no duplicate": (
        "web/thread/test_reconnect.py::test_a_phone_that_slept_is_up_to_date_within_a_second_despite_a_dead_connection",
    ),
    "a question of a worker in a child process is pushed although a tab is open": (
        "notifications/test_worker_question.py::test_a_question_of_a_worker_is_pushed_to_each_device_once",
    ),
    "a push service that says gone or forbidden": (
        "notifications/test_push.py::test_a_device_that_is_gone_is_no_longer_told",
        "notifications/test_push.py::test_a_refusal_is_recorded_and_not_repeated",
    ),
    "over its budget a worker pauses with a partial result": (
        "workers/test_claude.py::test_the_budget_of_a_day_pauses_with_what_was_done_and_starts_nothing_else",
        "workers/test_acp.py::test_an_acp_agent_over_its_budget_pauses_with_what_it_has",
    ),
    "the branch of a worktree with uncommitted work survives": (
        "workers/isolation/test_worktrees.py::test_uncommitted_work_is_committed_to_its_branch_before_a_worktree_goes",
    ),
    "a log moves from one store to the other": (
        "log/postgres/test_nodes.py::test_a_log_moves_into_postgresql_and_back_with_equal_digests",
    ),
    "the real command line against a fake service": (
        "workers/test_claude.py::test_an_agent_answers_and_its_cost_is_booked",
        "workers/test_claude.py::test_a_question_becomes_a_form_and_the_answer_goes_back",
        "workers/test_claude.py::test_a_sub_agents_work_is_part_of_the_transcript_and_of_the_cost",
        "workers/test_claude.py::test_an_overloaded_service_is_tried_again_and_then_fails",
        "workers/test_claude.py::test_an_approval_is_deferred_over_a_restart_and_resumed",
        "workers/test_claude.py::test_a_context_that_is_full_is_told_and_the_retry_goes_on_in_the_session",
    ),
    "conformance of our MCP endpoint": (
        "interfaces/mcp/test_conformance.py::test_the_conformance_checks_for_any_server_pass",
    ),
    "forged signatures, tokens for another audience and replayed challenges": (
        "interfaces/voice/test_calls.py::test_a_webhook_without_twilios_signature_is_refused",
        "interfaces/http/routes/test_passkeys.py::test_only_a_valid_cloudflare_access_token_signs_in",
        "interfaces/http/routes/test_passkeys.py::test_a_passkey_challenge_is_valid_once_and_expires",
    ),
    "a sentence of a tool's output six months back is found and opened": (
        "workers/transcript/test_search.py::test_a_sentence_of_a_tools_output_is_found_six_months_later",
        "web/pages/test_search.py::test_a_place_in_the_work_of_a_task_is_found_and_opened",
    ),
}


@pytest.mark.parametrize("complaint", COMPLAINTS)
def test_this_complaint_is_impossible_here(complaint: str) -> None:
    check_that_they_exist(COMPLAINTS[complaint])


@pytest.mark.parametrize("asked", ACCEPTANCE)
def test_what_was_asked_to_be_shown_is_shown(asked: str) -> None:
    check_that_they_exist(ACCEPTANCE[asked])


def check_that_they_exist(names: tuple[str, ...]) -> None:
    """Check that each of these tests is there."""
    for named in names:
        path, _, name = named.partition("::")
        assert f"def {name}(" in (ROOT / path).read_text(), named

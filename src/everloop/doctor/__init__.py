"""Checks of an installation, its log and its processes, with a next step for each problem."""

from typing import TYPE_CHECKING

from everloop.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from everloop.doctor.checks import Doctor, DoctorReport, Machine, check_open_log
    from everloop.doctor.health import Finding, HealthReport, Verdict, check_running, size_words
    from everloop.doctor.voice_checks import VoiceStep, check_voice

__all__ = [
    "Doctor",
    "DoctorReport",
    "Finding",
    "HealthReport",
    "Machine",
    "Verdict",
    "VoiceStep",
    "check_open_log",
    "check_running",
    "check_voice",
    "size_words",
]

__getattr__ = lazy_exports(__name__, __file__)

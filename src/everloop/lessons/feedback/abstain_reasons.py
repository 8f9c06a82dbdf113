"""Why words that sounded like feedback were not taken as such. Each reason is `kind` or `kind: …`.

`no-lessons` and `model-unavailable` are told and not recorded: nothing was weighed, and the same
turn may be heard again.
"""

from typing import Final

NO_LESSONS: Final = "no-lessons"  # nothing was shown, so there is nothing to praise or blame
MODEL_UNAVAILABLE: Final = "model-unavailable"  # none is set up, or it failed
CLASSIFIER_ABSTAINED: Final = "classifier-abstained"
HAZARD: Final = "hazard"  # sarcasm and its like
NEUTRAL: Final = "neutral"
BELOW_THRESHOLD: Final = "below-threshold"
UNATTRIBUTED: Final = "unattributed"  # nobody can tell which lesson is meant
ATTRIBUTION_DIFFERS: Final = "attribution-differs"  # the classifier means another one
COOLDOWN: Final = "cooldown"
UNTESTED_HOST: Final = "untested-host-version"
SESSION_RECYCLED: Final = "session-recycled"  # other words under a turn's name that is known

KINDS: Final = (
    NO_LESSONS,
    MODEL_UNAVAILABLE,
    CLASSIFIER_ABSTAINED,
    HAZARD,
    NEUTRAL,
    BELOW_THRESHOLD,
    UNATTRIBUTED,
    ATTRIBUTION_DIFFERS,
    COOLDOWN,
    UNTESTED_HOST,
    SESSION_RECYCLED,
)

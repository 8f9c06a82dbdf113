"""Why a message that sounded like feedback gave no signal. Each reason is `kind` or `kind: detail`.

`no-lessons` and `model-unavailable` are returned but not recorded: nothing was evaluated, and the
same turn may be tried again.
"""

from typing import Final

NO_LESSONS: Final = "no-lessons"  # no lesson was shown, so none can be praised or blamed
MODEL_UNAVAILABLE: Final = "model-unavailable"  # none is set up, or it failed
CLASSIFIER_ABSTAINED: Final = "classifier-abstained"
HAZARD: Final = "hazard"  # such as sarcasm
NEUTRAL: Final = "neutral"
BELOW_THRESHOLD: Final = "below-threshold"
UNATTRIBUTED: Final = "unattributed"  # it is unclear which lesson is meant
ATTRIBUTION_DIFFERS: Final = "attribution-differs"  # the classifier means another one
COOLDOWN: Final = "cooldown"
UNTESTED_HOST: Final = "untested-host-version"
SESSION_RECYCLED: Final = "session-recycled"  # a known turn id came with a different text

ABSTAIN_REASONS: Final = (
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

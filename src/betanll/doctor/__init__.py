"""Is likelihood training starving points of this data, and which beta helps?"""

from betanll.doctor._diagnosis import Diagnosis, diagnose
from betanll.doctor._regions import Region
from betanll.doctor._rule import Evidence, judge
from betanll.doctor._trial import TrialSettings

__all__ = ["Diagnosis", "Evidence", "Region", "TrialSettings", "diagnose", "judge"]

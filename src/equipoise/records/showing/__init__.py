"""In: estimates and words.
Out: what a person is shown, apart from how: findings, tables, charts, and the sections that hold them.

A topic makes these from a run; a medium draws them. Neither knows the other.
"""

from .charts import Area as Area
from .charts import Axis as Axis
from .charts import Bar as Bar
from .charts import Bracket as Bracket
from .charts import Chart as Chart
from .charts import Cloud as Cloud
from .charts import Dot as Dot
from .charts import Heat as Heat
from .charts import Key as Key
from .charts import Line as Line
from .charts import Mark as Mark
from .charts import Note as Note
from .charts import Number as Number
from .charts import Panel as Panel
from .charts import Point as Point
from .charts import Rule as Rule
from .charts import Square as Square
from .charts import Tone as Tone
from .charts import ends_of as ends_of
from .charts import listed as listed
from .charts import value_of as value_of
from .sections import Finding as Finding
from .sections import Section as Section
from .sections import Shown as Shown
from .sections import State as State
from .sections import case_link as case_link
from .sections import cases_link as cases_link
from .sections import every as every
from .tables import Cell as Cell
from .tables import Column as Column
from .tables import Content as Content
from .tables import Row as Row
from .tables import Table as Table
from .verdicts import Status as Status
from .verdicts import Verdict as Verdict

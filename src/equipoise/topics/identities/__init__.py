"""In: runs on marked sentences ("the old nurse").
Out: how sure a model is of each identity, as findings, tables and charts.
"""

from .charts import leading_changes as leading_changes
from .charts import pictures as pictures
from .charts import radars as radars
from .sections import compared as compared
from .sections import section as section

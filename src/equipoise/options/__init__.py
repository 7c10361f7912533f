"""In: what a user may choose about an audit or about tuning, declared once.
Out: one frozen, checked object for each part of the program, with exactly the options that it takes.
"""

from .arguments import check_fields as check_fields
from .arguments import checked as checked
from .arguments import takes as takes
from .option import OUTPUT as OUTPUT
from .option import PANELS as PANELS
from .option import RENAMED as RENAMED
from .option import Option as Option
from .option import OptionError as OptionError
from .option import Options as Options
from .option import check_arguments as check_arguments
from .option import hint as hint
from .option import options_of as options_of
from .stopping import StoppingOptions as StoppingOptions
from .table import AnswerOptions as AnswerOptions
from .table import AuditOptions as AuditOptions
from .table import DatasetOptions as DatasetOptions
from .table import EngineOptions as EngineOptions
from .table import MeasuringOptions as MeasuringOptions
from .table import OutputOptions as OutputOptions
from .table import PlanOptions as PlanOptions
from .table import QuestionOptions as QuestionOptions
from .table import RunOptions as RunOptions
from .table import SeedOption as SeedOption
from .table import TextOptions as TextOptions
from .tuning import TuningOptions as TuningOptions

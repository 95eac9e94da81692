from .writing import make_report as make_report
from .writing import write_report as write_report

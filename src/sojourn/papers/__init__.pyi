from .registry import Reproduced as Reproduced
from .registry import Reproduction as Reproduction
from .registry import Request as Request
from .registry import catalogue as catalogue
from .registry import find as find
from .registry import reproduction as reproduction
from .registry import write as write

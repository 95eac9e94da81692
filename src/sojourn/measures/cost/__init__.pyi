from .carbon import Carbon as Carbon
from .carbon import emissions as emissions
from .carbon import parse_carbon as parse_carbon
from .carbon import read_carbon as read_carbon
from .clock import Clock as Clock
from .tariff import Tariff as Tariff
from .tariff import electricity_cost as electricity_cost
from .tariff import parse_tariff as parse_tariff

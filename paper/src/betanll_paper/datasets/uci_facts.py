"""Sizes and columns of the UCI sets, and where the paper's authors keep them."""

from __future__ import annotations

from typing import NamedTuple


class UCIFacts(NamedTuple):
    """What is known of a set before its files are there."""

    #: Folder in the authors' repository.
    folder: str
    n_rows: int
    #: Names of the columns, in the order of the original file.
    inputs: tuple[str, ...]
    targets: tuple[str, ...]
    n_splits: int = 20


def _inputs(names: str) -> tuple[str, ...]:
    return tuple(f"x_{name}" for name in names.split())


# The ten statistics of each of eight properties of the elements in a compound.
_STATISTICS = (
    *("mean", "wtd_mean", "gmean", "wtd_gmean", "entropy"),
    *("wtd_entropy", "range", "wtd_range", "std", "wtd_std"),
)
_PROPERTIES = (
    *("atomic_mass", "fie", "atomic_radius", "Density"),
    *("ElectronAffinity", "FusionHeat", "ThermalConductivity", "Valence"),
)
_SUPERCONDUCTIVITY = " ".join(
    ["number_of_elements"]
    + [f"{statistic}_{name}" for name in _PROPERTIES for statistic in _STATISTICS]
)
_WINE = (
    "fixed_acidity volatile_acidity citric_acid residual_sugar chlorides "
    "free_sulfur_dioxide total_sulfur_dioxide density pH sulphates alcohol"
)

UCI_FACTS = {
    "carbon": UCIFacts(
        "carbon",
        10721,
        _inputs("chiral_index_n chiral_index_m initial_u initial_v initial_w"),
        ("y_calculated_u", "y_calculated_v", "y_calculated_w"),
    ),
    "concrete": UCIFacts(
        "concrete",
        1030,
        _inputs(
            "cement blast_furnace_slag fly_ash water superplasticizer "
            "coarse_aggregate fine_aggregate age_days"
        ),
        ("y_compressive_strength_mpa",),
    ),
    "energy": UCIFacts(
        "energy",
        768,
        _inputs(
            "relative_compactness surface_area wall_area roof_area overall_height "
            "orientation glazing_area glazing_area_distribution"
        ),
        ("y_heating_load", "y_cooling_load"),
    ),
    "housing": UCIFacts(
        "bostonHousing",
        506,
        _inputs("CRIM ZN INDUS CHAS NOX RM AGE DIS RAD TAX PTRATIO B LSTAT"),
        ("y_MEDV",),
    ),
    "kin8m": UCIFacts(
        "kin8nm",
        8192,
        _inputs("theta1 theta2 theta3 theta4 theta5 theta6 theta7 theta8"),
        ("y_distance",),
    ),
    "naval": UCIFacts(
        "naval",
        11934,
        _inputs(
            "lever_position ship_speed gt_shaft_torque gt_rate_of_revolutions "
            "gas_generator_rate_of_revolutions starboard_propeller_torque "
            "port_propeller_torque hp_turbine_exit_temperature "
            "gt_compressor_inlet_air_temperature gt_compressor_outlet_air_temperature "
            "hp_turbine_exit_pressure gt_compressor_inlet_air_pressure "
            "gt_compressor_outlet_air_pressure gt_exhaust_gas_pressure "
            "turbine_injection_control fuel_flow"
        ),
        ("y_compressor_decay", "y_turbine_decay"),
    ),
    "power": UCIFacts("power-plant", 9568, _inputs("AT V AP RH"), ("y_PE",)),
    "protein": UCIFacts(
        "protein-tertiary-structure",
        45730,
        _inputs("F1 F2 F3 F4 F5 F6 F7 F8 F9"),
        ("y_RMSD",),
        n_splits=5,
    ),
    "superconductivity": UCIFacts(
        "superconductivity", 21263, _inputs(_SUPERCONDUCTIVITY), ("y_critical_temp",)
    ),
    "wine-red": UCIFacts("wine-quality-red", 1599, _inputs(_WINE), ("y_quality",)),
    "wine-white": UCIFacts("wine-white", 4898, _inputs(_WINE), ("y_quality",)),
    "yacht": UCIFacts(
        "yacht",
        308,
        _inputs(
            "longitudinal_position_of_buoyancy_centre prismatic_coefficient "
            "length_displacement_ratio beam_draught_ratio length_beam_ratio "
            "froude_number"
        ),
        ("y_residuary_resistance",),
    ),
}

#: Names of the sets, as in the paper.
UCI_NAMES = tuple(UCI_FACTS)

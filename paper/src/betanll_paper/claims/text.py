"""Claims of the text that no figure or table carries."""

from __future__ import annotations

from betanll_paper.claims.claim import Claim, Evidence, number

_SMALL = ("yacht", "housing", "energy", "concrete")


def claims(evidence: Evidence) -> list[Claim]:
    """Return the claims with what the results say."""
    return [_cost(evidence), *_formulas(), _architectures()]


def _cost(evidence: Evidence) -> Claim:
    runs = evidence.table("uci/runs")
    runs = runs[runs["dataset"].isin(_SMALL)]
    seconds = (runs["seconds"] / runs["updates"]).groupby(
        [runs["method"], runs["beta"].fillna(0)]
    )
    median = seconds.median()
    ratio = median["xvamp", 0.0] / median["beta-nll", 0.0]
    return Claim(
        "Text",
        "xVAMP roughly doubles the training time",
        f"{len(_SMALL)} UCI sets, one core / unknown",
        f"{number(ratio, 2)} times as long an update as NLL, with everything around it",
        "about 2",
        "contradicted",
        "An update draws 20 Gamma samples a target and compares each with 100 "
        "components; the factor depends on machine and network.",
    )


def _formulas() -> list[Claim]:
    tests = "checked in double precision by the library's tests"
    return [
        Claim(
            "Section 4",
            "β-NLL has the same optimum as NLL for every β",
            "exact",
            "the same stationary point",
            "the statement",
            "confirmed",
            f"The weight is a positive factor of the gradient; {tests}.",
        ),
        Claim(
            "Section 4",
            "β = 1 gives the mean the gradient of the squared error",
            "exact",
            "equal at the mean output",
            "the statement",
            "confirmed",
            "It does not hold for shared layers, which the variance trains as well; "
            f"{tests}.",
        ),
        Claim(
            "Appendix",
            "separate exponents of 1 and 2 give moment matching",
            "exact",
            "equal with the squared residual held constant",
            "the statement",
            "confirmed",
            f"Without holding it constant the mean gets a further term; {tests}.",
        ),
    ]


def _architectures() -> Claim:
    return Claim(
        "Table S5",
        "five networks for the sine",
        "5 / 5",
        "the same networks",
        "the table",
        "confirmed",
        "`--preset paper` trains all five.",
    )

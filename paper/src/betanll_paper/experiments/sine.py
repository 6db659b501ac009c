"""Figures of runs on the sine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from betanll.sweeps import Request, Results, Task
from betanll_paper.experiments.base import PaperExperiment


class SineFigures(PaperExperiment):
    """Figures 1 to 5, 7, 8 and S1 to S3; all data is drawn from seeds."""

    name = "sine"
    artefacts: ClassVar[Mapping[str, str]] = {
        "fig1": "The fit of NLL, and RMSE during training beside MSE.",
        "fig2": "Error, predicted std, weight and features of one network.",
        "fig3": "The fit of NLL at three times.",
        "fig4": "Jacobian variance of the features, over x and time.",
        "fig5": "Effective sampling probabilities of NLL, over x and time.",
        "fig7": "RMSE by learning rate and network, a panel for each β.",
        "fig8": "Fits and predicted std on the sine with growing noise.",
        "figS1": "Fits of NLL with further seeds.",
        "figS2": "RMSE of NLL with other optimisers.",
        "figS3": "NLL by learning rate and network, a panel for each β.",
    }
    settings = ()
    verb = "drawn"

    def method_names(self) -> tuple[str, ...]:
        return ()

    def tasks(self, request: Request, results: Results) -> list[Task]:
        from betanll_paper.sine.artefacts import figure_tasks

        return figure_tasks(request.artefacts, request.preset)

    def files(
        self, artefact: str, results: Results, request: Request
    ) -> Mapping[str, bytes]:
        from betanll_paper.sine.artefacts import figure_files, figure_tasks

        rows = results.rows(figure_tasks([artefact], request.preset))
        return figure_files(artefact, rows, request.preset)

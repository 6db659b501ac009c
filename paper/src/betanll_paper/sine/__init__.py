"""The sine: figures 1 to 5, 7, 8 and S1 to S3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from betanll.sweeps import Request, Results, Task
from betanll_paper.experiment import PaperExperiment, Rows


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

    def method_names(self) -> tuple[str, ...]:
        return ()

    def tasks_of(self, artefact: str, request: Request, results: Results) -> list[Task]:
        from betanll_paper.sine import grid, growing_noise, training

        tasks = {
            "fig1": training.curve_tasks,
            "fig7": grid.grid_tasks,
            "fig8": growing_noise.heteroscedastic_tasks,
            "figS1": training.further_nll_tasks,
            "figS2": grid.optimizer_tasks,
            "figS3": grid.grid_tasks,
        }
        return tasks.get(artefact, training.first_nll_task)(request.preset)

    def files(self, artefact: str, rows: Rows, request: Request) -> dict[str, bytes]:
        from betanll_paper.drawing.marks import NothingToDraw, figure_files
        from betanll_paper.sine import (
            circle_figure,
            figures,
            grid_figures,
            growing_noise_figures,
        )

        if not rows:
            raise NothingToDraw("no task has a result")
        modules = {
            "fig2": circle_figure,
            "fig7": grid_figures,
            "fig8": growing_noise_figures,
            "figS2": grid_figures,
            "figS3": grid_figures,
        }
        draw = getattr(modules.get(artefact, figures), artefact)
        return figure_files(artefact, draw, rows, request.preset)

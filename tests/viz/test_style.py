import numpy as np

from qgcn.viz import style


def test_colours_are_told_apart_by_the_colour_blind():
    """Toned, they must stay apart when red and green are seen as one (deuteranopia, Machado et al. 2009)."""
    blind = np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]])
    for theme in ("light", "dark"):
        rgb = np.array([[int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)] for colour in style.CATEGORIES[theme]])
        seen = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ blind.T
        apart = np.linalg.norm(seen[:, None] - seen[None], axis=-1) + 9 * np.eye(8)
        assert apart.min() > 0.06, (theme, np.unravel_index(apart.argmin(), apart.shape), apart.min())

//! Event marks in the strip below the horizontal axis: where pauses began and ended, where frames were dropped.

use crate::canvas::{Canvas, MUTED, TEXT};
use crate::figure::{Figure, MarkKind};
use crate::layout::Area;

/// The kinds of mark that occur, in their order.
pub(crate) fn mark_kinds(figure: &Figure) -> Vec<MarkKind> {
    let mut kinds: Vec<MarkKind> = figure.marks.iter().map(|m| m.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// One event mark in a strip that begins at `y`: XOFF and drops in the upper half, XON and others in the lower.
pub(crate) fn mark(c: &mut Canvas, kind: MarkKind, [x, y]: [f64; 2]) {
    match kind {
        MarkKind::Xoff => c.symbol([x, y + 4.0], 4, 3.2, "#d55e00", false),
        MarkKind::Xon => c.symbol([x, y + 9.0], 2, 3.2, "#009e73", true),
        MarkKind::Drop => {
            for side in [-1.0, 1.0] {
                c.line(
                    [x - 3.0 * side, y + 1.5],
                    [x + 3.0 * side, y + 7.5],
                    TEXT,
                    1.4,
                    "",
                );
            }
        }
        MarkKind::Event => c.symbol([x, y + 9.0], 3, 2.6, MUTED, false),
    }
}

/// Event marks below the axis: symbols while they are few, thin lines where they would run together.
pub(crate) fn marks(c: &mut Canvas, figure: &Figure, area: &Area) {
    for kind in mark_kinds(figure) {
        let mut at: Vec<i64> = figure
            .marks
            .iter()
            .filter(|m| m.kind == kind)
            .filter_map(|m| area.x.at(m.x))
            .filter(|x| (area.left - 0.5..=area.right + 0.5).contains(x))
            .map(|x| x.round() as i64)
            .collect();
        at.sort_unstable();
        at.dedup();
        let dense = at.len() as f64 > (area.right - area.left) / 12.0;
        for x in at.into_iter().map(|x| x as f64) {
            if dense {
                let (colour, from) = match kind {
                    MarkKind::Xoff => ("#d55e00", 1.0),
                    MarkKind::Drop => (TEXT, 1.0),
                    MarkKind::Xon => ("#009e73", 7.5),
                    MarkKind::Event => (MUTED, 7.5),
                };
                c.line(
                    [x, area.bottom + from],
                    [x, area.bottom + from + 5.5],
                    colour,
                    1.0,
                    "",
                );
            } else {
                mark(c, kind, [x, area.bottom + 1.0]);
            }
        }
    }
}

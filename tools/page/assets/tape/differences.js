// Gradients beside finite differences of the loss, measured in f64 when the page was made.
'use strict';

// The largest relative difference that rounding in fp32 explains; bf16 and TF32 round too much for such a comparison.
const DIFFERENCE_TOLERANCE = 0.01;
const DIFFERENCE_NOISE = 1e-6; // rounding of the difference itself: a gradient that is zero may have this much

// Undefined if the element was not measured.
function differenceAt(tensor, row, column) {
  return tensor.differences?.find((difference) => difference.row === row && difference.column === column);
}

// A line about the element, or null.
function differenceView(tensor, row, column, precision) {
  const difference = differenceAt(tensor, row, column);
  if (!difference) return null;
  const analytic = tensor.at(row, column), numeric = difference.value;
  const largest = Math.max(Math.abs(analytic), Math.abs(numeric)), isZero = largest <= DIFFERENCE_NOISE;
  const gap = Math.abs(analytic - numeric), relative = gap / largest;
  const isEqual = gap <= DIFFERENCE_NOISE || relative <= DIFFERENCE_TOLERANCE;
  const verdict = precision !== 'fp32' ? 'rounded' : isEqual ? 'agrees' : 'disagrees';
  const text = `finite difference of the loss ${valueText(numeric, 8)}, gradient ${valueText(analytic, 8)}: ` +
      (isZero ? 'both are zero up to rounding' : `relative difference ${valueText(relative, 2)}`) +
      (verdict === 'rounded' ? ` (the step rounds to ${precision})` : '');
  return element('p', {class: `finite ${verdict}`}, text);
}

function differencesNote(tensor) {
  const count = tensor.differences?.length ?? 0;
  if (count === 0) return [];
  const marked = count === 1 ? 'The marked element has a finite difference' :
                               `The ${count} marked elements have finite differences`;
  return [element('p', {class: 'extent'}, `${marked}; the key d chooses ${count === 1 ? 'it' : 'the next one'}.`)];
}

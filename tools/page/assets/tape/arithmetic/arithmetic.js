// Finds the rule that explains an element of an op.
'use strict';

// The rules by op, then by what they explain: 'output', a saved or computed tensor, or the gradient of an input.

const ARITHMETIC = {
  linear: LINEAR, layer_norm: LAYER_NORM, residual_layer_norm: RESIDUAL_LAYER_NORM, rms_norm: RMS_NORM,
  embedding: EMBEDDING, head_dot: HEAD_DOT, head_divide: HEAD_DIVIDE, segment_mean: SEGMENT_MEAN,
  dropout: DROPOUT, residual_dropout: RESIDUAL_DROPOUT, gated_activation: GATED_ACTIVATION, rope: ROPE,
  attention: ATTENTION, linear_cross_entropy: LINEAR_CROSS_ENTROPY, cross_entropy: CROSS_ENTROPY,
  linear_attention_scan: LINEAR_ATTENTION_SCAN,
  squared_error: SQUARED_ERROR, margin_loss: MARGIN_LOSS, ...ELEMENTARY,
};

function rulesOf(op) {
  if (ARITHMETIC[op]) return ARITHMETIC[op];
  if (ACTIVATIONS[op]) return ACTIVATION;
  return op.startsWith('linear_') && ACTIVATIONS[op.slice('linear_'.length)] ? LINEAR : {};
}

// The sum of the explanations of several rules: the gradient of a tensor that is several operands of the op.
function sumOfRules(rules) {
  return (...place) => {
    const made = rules.map((rule) => rule(...place));
    if (made.some((one) => one === null)) return null;
    return {result: made.map(({result}) => result).join(', and '), terms: made.flatMap(({terms}) => terms)};
  };
}

// of: 'output', the name of another tensor of the op, or the names of several operands that are one tensor, whose
// gradient is explained. Null if the page has no arithmetic for it.
function arithmeticOf(step, node, of) {
  const rules = [of].flat().map((name) => rulesOf(node.op)[name]);
  if (!rules.every(Boolean)) return null;
  const rule = rules.length === 1 ? rules[0] : sumOfRules(rules), tensors = tensorsOf(step, node);
  return (row, column) => rule(node, tensors, row, column);
}

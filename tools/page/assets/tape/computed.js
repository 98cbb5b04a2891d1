// Tensors that an op computes on the way and does not store, with their titles. Others of node.computed are for the
// arithmetic alone.
'use strict';

const OWN_HEADS = 'of the first head of keys and values in the first segment';

const COMPUTED_TITLES = {
  'own q': `q, ${OWN_HEADS}`,
  'own k': `k, ${OWN_HEADS}`,
  'own v': `v, ${OWN_HEADS}`,
  'S': 'S, the scores before softmax, of the first segment: rows are heads × queries, columns keys',
  'P': 'P = softmax(S), of the first segment, before dropout: rows are heads × queries, columns keys',
  'position scores': 'what the position terms add to the scores: rows are heads × queries, columns keys',
  'keep': 'keep, the factors of dropout',
  'logits': 'logits of the first rows',
  'dlogits': 'dlogits of the first rows, the gradient of the logits',
};

function computedTensors(step, node) {
  const isRotated = node.computed.some(({name}) => name === 'query angles');
  return node.computed.filter(({name}) => COMPUTED_TITLES[name]).map(({name, value}) => {
    const tensor = step.tensor(value), title = COMPUTED_TITLES[name];
    tensor.masked = name === 'S';
    return {name, tensor, title: isRotated && /^own [qk]$/.test(name) ? title.replace(',', ', rotated,') : title};
  });
}

// The charts of one or two runs: one chart per metric, all over the same horizontal axis.
'use strict';

const LOSSES = ['loss', 'cross-entropy', 'perplexity', 'bits-per-byte', 'mean-squared-error', 'margin-loss'];
const SPEED_AND_STEP = ['learning_rate', 'gradient_norm', 'tokens_per_second', 'tflops', 'share', 'memory_mb',
  'gpu_memory_mb'];
const METRIC_TITLES = {
  loss: ['Loss', 'nats per prediction; training may add label smoothing'],
  'cross-entropy': ['Cross-entropy', 'nats per prediction'],
  perplexity: ['Perplexity', ''],
  'bits-per-byte': ['Bits per byte', ''],
  accuracy: ['Accuracy', 'share of correct predictions'],
  bleu: ['BLEU', '0 to 100'],
  chrf: ['chrF', '0 to 100'],
  learning_rate: ['Learning rate', ''],
  gradient_norm: ['Gradient norm', ''],
  tokens_per_second: ['Speed', 'tokens per second, source and target'],
  tflops: ['Computation', 'TFLOP/s of forward and backward, all ranks'],
  share: ['Share of the limit', 'relative to the limit of matrix products'],
  memory_mb: ['Memory', 'MiB of rank 0'],
  gpu_memory_mb: ['GPU memory', 'MiB of rank 0'],
};
const EVENT_NAMES = {train: 'training', valid: 'validation'};
const COLORS = 6;

// The metric of "cross-entropy/SET".
function metricOf(name) {
  return name.split('/')[0];
}

function curveName(run, event, metric, name, named) {
  const set = name === metric ? '' : ` ${name.slice(metric.length + 1)}`;
  const what = SPEED_AND_STEP.includes(metric) && named ? '' : `${EVENT_NAMES[event]}${set}`;
  return named ? [run.name, what].filter(Boolean).join(': ') : what;
}

// The curves of a metric in the order of their colors. Two runs have a color each, the curves of one run differ.
function curvesOf(metric, runs) {
  const curves = [];
  runs.forEach((run, number) => {
    let own = 0;
    for (const event of ['train', 'valid']) {
      const {values, updates, target_tokens: tokens, seconds} = run[event];
      for (const name of Object.keys(values).filter((key) => metricOf(key) === metric)) {
        curves.push({
          name: curveName(run, event, metric, name, runs.length > 1),
          color: (runs.length > 1 ? number : own) % COLORS,
          dash: (runs.length > 1 ? own : 0) % DASHES.length,
          marked: event === 'valid',
          values: values[name],
          positions: {updates, tokens, seconds},
        });
        ++own;
      }
    }
  });
  return curves;
}

// Without label smoothing, the loss of a task is its cross-entropy.
function repeatsLoss(metric, runs) {
  const values = (name) => JSON.stringify(curvesOf(name, runs).map((curve) => curve.values));
  return metric === 'cross-entropy' && values(metric) === values('loss');
}

// Losses first, then other metrics, then how the training proceeds.
function metricsOf(runs) {
  const names = runs.flatMap((run) => [...Object.keys(run.train.values), ...Object.keys(run.valid.values)]);
  const metrics = [...new Set(names.map(metricOf))].filter((metric) => !repeatsLoss(metric, runs));
  const rank = (metric) => (LOSSES.includes(metric) ? 0 : SPEED_AND_STEP.includes(metric) ? 2 : 1);
  return metrics.sort((a, b) => rank(a) - rank(b)); // stable
}

function chartOf(metric, runs) {
  const [title, unit] = Object.hasOwn(METRIC_TITLES, metric) ? METRIC_TITLES[metric] : [metric, ''];
  return {
    metric,
    chart: new Chart(title, unit, curvesOf(metric, runs), {fromZero: SPEED_AND_STEP.includes(metric)}),
  };
}

function timeAxis(runs) {
  const longest = Math.max(0, ...runs.flatMap((run) => [...run.train.seconds, ...run.valid.seconds]));
  if (longest < 300) return {name: 'seconds', label: 'Training time', unit: 'seconds', divisor: 1};
  if (longest < 7200) return {name: 'seconds', label: 'Training time', unit: 'minutes', divisor: 60};
  return {name: 'seconds', label: 'Training time', unit: 'hours', divisor: 3600};
}

// Runs of early versions have no times and no tokens.
function axesOf(runs) {
  const has = (column) => runs.some((run) => [...run.train[column], ...run.valid[column]].some(Number.isFinite));
  const axes = [{name: 'updates', label: 'Updates', unit: 'updates', divisor: 1}];
  if (has('target_tokens')) axes.push({name: 'tokens', label: 'Target tokens', unit: 'target tokens', divisor: 1});
  if (has('seconds')) axes.push(timeAxis(runs));
  return axes;
}

function controlsOf(axes, settings, redraw) {
  const choose = element('fieldset', {}, element('legend', {}, 'Horizontal axis'));
  for (const axis of axes) {
    const attributes = {type: 'radio', name: 'axis', value: axis.name};
    if (axis === settings.axis) attributes.checked = '';
    choose.append(labeledInput(attributes, axis.label, () => redraw({axis})));
  }
  const scale = labeledInput({type: 'checkbox', ...(settings.logarithmic ? {checked: ''} : {})}, 'Logarithmic losses',
    (input) => redraw({logarithmic: input.checked}));
  return element('form', {class: 'controls'}, choose, scale);
}

// Says how many entries the curves show, if not all.
function notesOf(runs) {
  return runs.flatMap((run) => Object.entries(EVENT_NAMES)
    .filter(([event]) => run[event].entries > run[event].updates.length)
    .map(([event, name]) => {
      const [shown, all] = [run[event].updates.length, run[event].entries].map(numberText);
      return element('p', {class: 'note'}, `${run.name}: the curves show ${shown} of ${all} entries of ${name}.`);
    }));
}

// The choices of the reader. A page that loads itself again keeps them in `memory`, else null.
function settingsOf(axes, memory) {
  const axis = axes.find(({name}) => name === memory?.getItem('axis')) ?? axes[0];
  return {axis, logarithmic: memory?.getItem('logarithmic') === 'true'};
}

function showCurves(section, runs, memory) {
  const charts = metricsOf(runs).map((metric) => chartOf(metric, runs));
  if (charts.length === 0) {
    section.append(element('p', {}, 'metrics.jsonl has no entries of training or validation yet.'));
    return;
  }
  const axes = axesOf(runs);
  const settings = settingsOf(axes, memory);
  const redraw = (changes) => {
    Object.assign(settings, changes);
    memory?.setItem('axis', settings.axis.name);
    memory?.setItem('logarithmic', settings.logarithmic);
    for (const {metric, chart} of charts) chart.draw(settings.axis, settings.logarithmic && LOSSES.includes(metric));
  };
  const grid = element('div', {class: 'charts'}, ...charts.map(({chart}) => chart.figure));
  section.append(controlsOf(axes, settings, redraw), ...notesOf(runs), grid,
    element('p', {class: 'note'}, 'Point at a chart, or focus it and press the arrow keys, to read values.'));
  let width = 0;
  const fit = () => { // the height changes with the values in the legends
    if (grid.clientWidth === width) return;
    width = grid.clientWidth;
    redraw({});
  };
  fit();
  new ResizeObserver(fit).observe(grid);
}

// The page of a run: overview, samples, and tables of checkpoints, options and messages.
'use strict';

// Tables, and the comparison of two runs in them.
// A table that scrolls by itself if it is wider than the page.
function table(label, headings, rows) {
  const head = element('tr', {}, ...headings.map((heading) => element('th', {scope: 'col'}, heading)));
  const body = element('tbody', {}, ...rows);
  return element('div', {class: 'scroll', role: 'region', tabindex: '0', 'aria-label': label},
    element('table', {}, element('thead', {}, head), body));
}

function row(name, cells) {
  return element('tr', {}, element('th', {scope: 'row'}, name), ...cells.map((cell) => element('td', {}, cell)));
}

// A row that is marked if the values differ.
function comparedRow(name, values) {
  const differs = values.some((value) => value !== values[0]);
  const made = row(name, values);
  if (!differs) return made;
  made.classList.add('differs');
  made.lastChild.append(element('span', {class: 'difference'}, 'differs'));
  return made;
}

// A row per name, a column per run. records: an object of texts for each run.
function recordTable(label, runs, records, makeRow) {
  const names = [...new Set(records.flatMap((record) => Object.keys(record)))];
  const rows = names.map((name) => makeRow(name, records.map((record) => record[name] ?? 'none')));
  return table(label, ['Name', ...runs.map((run) => run.name)], rows);
}

// The same, folded, with marks at what differs and a choice to show only that.
function foldedComparison(label, runs, records) {
  const count = Math.max(...records.map((record) => Object.keys(record).length));
  const made = recordTable(label, runs, records, comparedRow);
  const details = element('details', {}, element('summary', {}, `${label} (${count})`));
  if (runs.length > 1) {
    details.open = true;
    made.classList.add('only-differences');
    details.append(labeledInput({type: 'checkbox', checked: ''}, 'Only what differs',
      (input) => made.classList.toggle('only-differences', input.checked)));
    if (made.querySelector('.differs') === null) details.append(element('p', {class: 'note'}, 'Nothing differs.'));
  }
  details.append(made);
  return details;
}

// The sections of the page of training runs.

const LONGEST_OUTPUT = 400; // characters

// "12.3 after 500 updates"
function bestText({value, updates}) {
  return `${numberText(value)} after ${numberText(updates)} updates`;
}

function overviewOf({progress, environment}) {
  const record = {State: progress.state};
  const add = (name, value, text) => {
    if (value !== undefined && value !== null) record[name] = text(value);
  };
  add('Updates', progress.updates, numberText);
  add('Training time', progress.seconds, durationText);
  add('Target tokens', progress.target_tokens, numberText);
  add('Speed', progress.tokens_per_second, (value) => `${numberText(Math.round(value))} tokens/s`);
  add('Computation', progress.tflops, (value) => `${numberText(value)} TFLOP/s`);
  add('Share of the limit', progress.share, (value) => `${numberText(100 * value)} %`);
  add('Limit', environment.limit_tflops, (value) => `${numberText(value)} TFLOP/s`);
  add('Source of the limit', environment.limit_source, String);
  add('Memory', progress.memory_mb, (value) => bytesText(value * 2 ** 20));
  add('GPU memory', progress.gpu_memory_mb, (value) => bytesText(value * 2 ** 20));
  for (const [metric, best] of Object.entries(progress.best)) record[`Best ${metric}`] = bestText(best);
  add('Gyre', environment.gyre, String);
  add('Kernels', environment.kernels, String);
  add('Precision', environment.precision, String);
  add('Ranks', environment.ranks, String);
  add('Seed', environment.seed, String);
  add('Deterministic', environment.deterministic, (value) => (value ? 'yes' : 'no'));
  add('Last checkpoint', environment.checkpoint, String);
  return record;
}

// The figures of one run side by side, those of two runs in a table.
function showOverview(section, runs) {
  const records = runs.map(overviewOf);
  if (runs.length > 1) {
    section.append(recordTable('Overview of both runs', runs, records, row));
    return;
  }
  const facts = Object.entries(records[0]).map(
    ([name, value]) => element('div', {}, element('dt', {}, name), element('dd', {}, value)));
  section.append(element('dl', {class: 'facts'}, ...facts));
}

function updatesText({first, last}) {
  return first === last ? numberText(first) : `${numberText(first)} to ${numberText(last)}`;
}

// The beginning of a long output: early in training, models repeat words until the limit of the length.
function outputText(text) {
  const characters = [...text];
  if (characters.length <= LONGEST_OUTPUT) return text || '(empty)';
  return `${characters.slice(0, LONGEST_OUTPUT).join('')} ... (${numberText(characters.length)} characters)`;
}

// The samples of all runs by source and reference.
function groupedSamples(runs) {
  const groups = new Map();
  for (const run of runs) {
    for (const sample of run.samples) {
      const key = JSON.stringify([sample.source, sample.reference]);
      if (!groups.has(key)) groups.set(key, {source: sample.source, reference: sample.reference, outputs: [], all: 0});
      const group = groups.get(key);
      group.all += sample.all;
      for (const output of sample.outputs) group.outputs.push({...output, run: run.name});
    }
  }
  return [...groups.values()];
}

function sampleArticle({source, reference, outputs, all}, number, runs) {
  const texts = element('dl', {}, element('dt', {}, 'Input'), element('dd', {dir: 'auto'}, source),
    element('dt', {}, 'Reference'), element('dd', {dir: 'auto'}, reference));
  const rows = outputs.map((output) => row(updatesText(output), [
    ...(runs.length > 1 ? [output.run] : []), element('span', {dir: 'auto'}, outputText(output.text))]));
  const headings = ['Updates', ...(runs.length > 1 ? ['Run'] : []), 'Output'];
  const note = all > outputs.length
    ? [element('p', {class: 'note'}, `${numberText(outputs.length)} of ${numberText(all)} different outputs.`)] : [];
  return element('article', {}, element('h3', {}, `Sample ${number}`), texts,
    table(`Outputs for sample ${number}`, headings, rows), ...note);
}

function showSamples(section, runs) {
  const samples = groupedSamples(runs);
  if (samples.length === 0) {
    section.append(element('p', {}, runs.length > 1 ? 'The runs have no samples.' : 'The run has no samples.'),
      element('p', {class: 'note'}, 'Language models record samples when they validate, ' +
        'translation models if they validate with bleu or chrf.'));
  }
  samples.forEach((sample, i) => section.append(sampleArticle(sample, i + 1, runs)));
}

function checkpointTable(run) {
  const metrics = [...new Set(run.checkpoints.flatMap((checkpoint) => Object.keys(checkpoint.values ?? {})))];
  const figure = (value) => (typeof value === 'number' ? numberText(value) : '');
  const rows = run.checkpoints.map((checkpoint) => row(checkpoint.name, [
    ['best', 'last'].filter((mark) => checkpoint[mark]).join(', '), numberText(checkpoint.updates),
    bytesText(checkpoint.bytes), ...metrics.map((metric) => figure(checkpoint.values?.[metric]))]));
  return table(`Checkpoints of ${run.name}`, ['Name', 'Marks', 'Updates', 'Size', ...metrics], rows);
}

function showCheckpoints(section, runs) {
  for (const run of runs) {
    if (runs.length > 1) section.append(element('h3', {}, run.name));
    section.append(run.checkpoints.length > 0 ? checkpointTable(run) : element('p', {}, 'The run has no checkpoints.'));
  }
}

function showOptions(section, runs) {
  section.append(foldedComparison('Options, train.toml', runs, runs.map((run) => run.options)),
    foldedComparison('Architecture, config.json', runs, runs.map((run) => run.architecture)));
}

function messageItem({level, text}) {
  return level === 'info' ? element('li', {}, text) :
    element('li', {class: 'warning'}, element('strong', {}, `${level}: `), text);
}

function showMessages(section, runs) {
  for (const run of runs) {
    if (runs.length > 1) section.append(element('h3', {}, run.name));
    section.append(element('p', {class: 'note'}, 'The first lines of train.log:'),
      element('ul', {class: 'log'}, ...run.messages.map(messageItem)));
  }
}

// Loads the page again while the run trains, unless somebody reads values in a chart.
function reloadLater() {
  const RELOAD_MS = 5000;
  setInterval(() => {
    if (!document.hidden && document.querySelector('.plot:hover, .plot:focus') === null) location.reload();
  }, RELOAD_MS);
}

function showReport() {
  const {runs, followed} = JSON.parse(document.getElementById('data').textContent);
  const section = (id) => document.getElementById(id);
  showOverview(section('overview'), runs);
  showCurves(section('curves'), runs, followed ? sessionStorage : null);
  showSamples(section('samples'), runs);
  showCheckpoints(section('checkpoints'), runs);
  showOptions(section('options'), runs);
  showMessages(section('messages'), runs);
  if (followed) reloadLater();
}

showReport();

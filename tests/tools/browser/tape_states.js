// Puts a page of gyre inspect page into states that show all kinds of content, and checks each.
'use strict';

const {walk, tree} = page;
const tapeChecks = new PageChecks();

function choose(at) {
  walk.go(at);
  chooseInMaps(document);
}

function search(text) {
  byId('search').value = text;
  byId('search').dispatchEvent(new Event('input'));
}

function openOnly(isOpen) {
  for (const item of tree.items) tree.open(item, isOpen(item));
}

// On a screen of 1,280 x 720 the map has room for the closed model, and for each layer with its ops.
function checkMap(name, isOpen, rowsOf) {
  openOnly(isOpen);
  const rows = tree.visible().filter(rowsOf).map((item) => item.line.getBoundingClientRect());
  const height = rows.at(-1).bottom - rows[0].top, {clientHeight} = tree.list.parentElement;
  const room = clientHeight - (tree.list.offsetTop - tree.list.parentElement.offsetTop);
  if (height > room) tapeChecks.note(`${name} has ${height} pixels in a map of ${room}`);
}

function checkMaps() {
  checkMap('the closed model', (item) => item.parent === null, () => true);
  const layers = tree.items.filter((item) => item.kind === 'module' && /^layers\.\d+$/.test(item.label));
  document.documentElement.dataset.layers = layers.length;
  for (const {path} of layers) {
    const isInside = (item) => `${item.path}.`.startsWith(`${path}.`);
    const isAround = (item) => item.parent === null || `${path}.`.startsWith(`${item.path}.`);
    checkMap(path, (item) => item.kind === 'module' && (isInside(item) || isAround(item)), isInside);
  }
}

const lastForward = walk.step.forwards - 1;
const linearAt = walk.step.positions.findIndex(({node}) => node.op.startsWith('linear'));
choose(linearAt);
tapeChecks.check('forward of a linear op');
walk.turn();
choose(walk.at);
tapeChecks.check('its backward');
choose(lastForward);
tapeChecks.check('the loss');
choose(walk.step.positions.length - 1);
tapeChecks.check('the last step');
search('linear');
tapeChecks.check('search results');
search('no such op');
tapeChecks.check('a search in vain');
search('');
openOnly(() => true);
tapeChecks.check('an open model');
if (window.innerWidth >= 1280) checkMaps();
document.documentElement.dataset.problems = [...tapeChecks.problems].join('; ');

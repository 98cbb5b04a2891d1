// Checks what can be seen of a page: the contrast of its texts, its controls, and its width. Notes problems on the root
// element, and the number of checks of each kind.
'use strict';

const ENOUGH_CONTRAST = 4.5, ENOUGH_FOR_LARGE_TEXT = 3, ENOUGH_FOR_GRAPHICS = 3; // WCAG 2.2, level AA
const NATIVE_CONTROLS = 'a[href], button, input, select, summary, textarea';
const CONTROLS = `${NATIVE_CONTROLS}, [tabindex="0"], [role="treeitem"]`;

function describeNode(node) {
  const {tagName, id, className} = node;
  const name = `${tagName.toLowerCase()}${id ? `#${id}` : ''} ${className.baseVal ?? className}`;
  return `${name} "${node.textContent.trim().slice(0, 30)}"`;
}

class PageChecks {
  constructor() {
    this.problems = new Set();
    this.counts = {texts: 0, graphics: 0, controls: 0};
  }

  // `state` names what the page shows at the moment.
  check(state) {
    this.state = state;
    this.checkWidth();
    this.checkTexts();
    this.checkGraphics();
    for (const control of document.querySelectorAll(CONTROLS)) if (isShown(control)) this.checkControl(control);
    this.checkRegions();
    for (const tree of document.querySelectorAll('[role="tree"]')) this.checkTree(tree);
    for (const area of document.querySelectorAll('*')) if (isShown(area)) this.checkScrolling(area);
    const scheme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
    Object.assign(document.documentElement.dataset, this.counts, {scheme, problems: [...this.problems].join('; ')});
  }

  note(problem) {
    this.problems.add(`${this.state}: ${problem}`);
  }

  checkWidth() {
    const {scrollWidth} = document.scrollingElement;
    if (scrollWidth > window.innerWidth) this.note(`${scrollWidth} pixels wide instead of ${window.innerWidth}`);
  }

  checkTexts() {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const parent = texts.currentNode.parentElement;
      if (texts.currentNode.data.trim() === '' || !isShown(parent) || parent.closest('option, :disabled')) continue;
      this.checkContrast(parent, textColor(parent), enoughContrast(parent));
      ++this.counts.texts;
    }
    for (const input of document.querySelectorAll('[placeholder]'))
      this.checkContrast(input, getComputedStyle(input, '::placeholder').color, ENOUGH_CONTRAST);
  }

  // Curves, and the bars of the map and of lanes.
  checkGraphics() {
    for (const line of document.querySelectorAll('path.line, .bar > span')) {
      const {stroke, backgroundColor} = getComputedStyle(line);
      this.checkContrast(line.parentElement, line.matches('path') ? stroke : backgroundColor, ENOUGH_FOR_GRAPHICS);
      ++this.counts.graphics;
    }
    for (const bar of document.querySelectorAll('.lanes rect')) {
      this.checkContrast(bar.ownerSVGElement.parentElement, getComputedStyle(bar).fill, ENOUGH_FOR_GRAPHICS);
      ++this.counts.graphics;
    }
  }

  checkContrast(node, color, enough) {
    const background = backgroundOf(node), ratio = contrast(blend(parseColor(color), background), background);
    if (ratio < enough) this.note(`contrast ${ratio.toFixed(2)} of ${describeNode(node)}`);
  }

  checkControl(control) {
    ++this.counts.controls;
    if (accessibleName(control) === '') this.note(`no name: ${describeNode(control)}`);
    if (control.disabled) return;
    if (control.matches(NATIVE_CONTROLS) && control.tabIndex < 0) this.note(`not reached by Tab: ${describeNode(control)}`);
    control.focus();
    if (document.activeElement !== control) return this.note(`cannot have the focus: ${describeNode(control)}`);
    const outlined = [control, ...control.children].some((node) => getComputedStyle(node).outlineStyle !== 'none');
    if (!outlined) this.note(`the focus cannot be seen: ${describeNode(control)}`);
  }

  // Screen readers list the regions of a page by their names.
  checkRegions() {
    const titleOf = (region) => document.getElementById(region.getAttribute('aria-labelledby'))?.textContent;
    const names = [...document.querySelectorAll('section[aria-label], section[aria-labelledby], nav, [role="region"]')]
                      .map((region) => region.getAttribute('aria-label') ?? titleOf(region));
    if (new Set(names).size < names.length) this.note(`regions of the same name: ${names.join(', ')}`);
  }

  // Tab goes to one item of a tree, the arrow keys to the others.
  checkTree(tree) {
    const items = [...tree.querySelectorAll('[role="treeitem"]')].filter(isShown);
    const stops = items.filter((item) => item.tabIndex === 0);
    if (items.length > 0 && stops.length !== 1) this.note(`${stops.length} tab stops in the tree`);
  }

  checkScrolling(area) {
    const {overflowX, overflowY} = getComputedStyle(area), scrolls = (overflow) => /auto|scroll/.test(overflow);
    const hides = (scrolls(overflowX) && area.scrollWidth > area.clientWidth + 1) ||
        (scrolls(overflowY) && area.scrollHeight > area.clientHeight + 1);
    if (hides && area.tabIndex < 0 && ![...area.querySelectorAll(CONTROLS)].some(isShown))
      this.note(`no key scrolls ${describeNode(area)}`);
  }
}

function chooseInMaps(view) {
  for (const map of view.querySelectorAll('.heat'))
    map.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}));
}

function isShown(node) {
  const {width, height} = node.getBoundingClientRect();
  return width > 0 && height > 0 && node.checkVisibility({visibilityProperty: true}) &&
      !node.closest('.skip:not(:focus)');
}

function textColor(node) {
  const {color, fill} = getComputedStyle(node);
  return node.matches('svg text') ? fill : color;
}

function enoughContrast(node) {
  const {fontSize, fontWeight} = getComputedStyle(node);
  const isLarge = parseFloat(fontSize) >= (Number(fontWeight) >= 700 ? 18.66 : 24);
  return isLarge ? ENOUGH_FOR_LARGE_TEXT : ENOUGH_CONTRAST;
}

// Red, green and blue from 0 to 255, and the opacity.
function parseColor(text) {
  const [red, green, blue, alpha = 1] = text.match(/[\d.]+/g).map(Number);
  return [red, green, blue, alpha];
}

function blend([red, green, blue, alpha], below) {
  return [red, green, blue].map((value, i) => alpha * value + (1 - alpha) * below[i]);
}

function backgroundOf(node) {
  if (node === null) return [255, 255, 255];
  const bar = node.matches('svg text') ? node.previousElementSibling : null;
  if (bar?.matches('rect')) return parseColor(getComputedStyle(bar).fill).slice(0, 3);
  const color = parseColor(getComputedStyle(node).backgroundColor);
  return color[3] === 1 ? color.slice(0, 3) : blend(color, backgroundOf(node.parentElement));
}

function luminance(color) {
  const [red, green, blue] =
      color.map((value) => value / 255).map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(a, b) {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

function accessibleName(node) {
  const labels = [...(node.labels ?? [])].map((label) => label.textContent);
  return [node.getAttribute('aria-label'), ...labels, node.textContent].find((text) => text?.trim()) ?? '';
}

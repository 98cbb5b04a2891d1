// Makes elements. Text is always set as text, so that nothing in a file can become markup.
'use strict';

const SVG_NAMESPACE = 'http://www.w3.org/2000/svg';

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function element(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

function svgElement(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG_NAMESPACE, name), attributes, children);
}

// A button that looks like a link.
function linkButton(text, action) {
  const button = element('button', {type: 'button', class: 'link'}, text);
  button.addEventListener('click', action);
  return button;
}

// A radio button or a checkbox with its label.
function labeledInput(attributes, text, onChange) {
  const input = element('input', attributes);
  input.addEventListener('change', () => onChange(input));
  return element('label', {}, input, text);
}

// Notes errors on the root element, where tests of the page find them.
'use strict';

function noteError(message) {
  const root = document.documentElement;
  root.dataset.errors = root.dataset.errors ? `${root.dataset.errors}; ${message}` : message;
}

window.addEventListener('error', (event) => noteError(event.message));
window.addEventListener('unhandledrejection', (event) => noteError(String(event.reason)));
document.addEventListener('securitypolicyviolation', (event) => noteError(`blocked: ${event.violatedDirective}`));

"""Opens pages in headless Firefox and prints the root element of each as HTML, without its content.

    firefox.py SCHEME PAGE...       SCHEME: dark or light
    firefox.py --tab PAGE...        presses Tab until it leaves the page, and prints what never had the focus
"""

import atexit
import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

TAB = '\ue004'
ROOT = 'return document.documentElement.cloneNode(false).outerHTML'
# The controls that Tab must reach. Only the chosen radio button of a group counts.
CONTROLS = '''
const all = document.querySelectorAll('a[href], button, input, select, summary, [tabindex="0"]');
window.unreached = new Set([...all].filter((node) => !node.disabled && node.checkVisibility() &&
    (node.type !== 'radio' || node.checked)));
document.addEventListener('focusin', (event) => window.unreached.delete(event.target));
return window.unreached.size;'''
UNREACHED = 'return [...window.unreached].map((node) => node.outerHTML.slice(0, 100))'


class Firefox:
    """A Firefox under the control of its Marionette protocol: messages of JSON after their length."""

    def __init__(self, scheme):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        with socket.socket() as probe:
            probe.bind(('127.0.0.1', 0))
            port = probe.getsockname()[1]
        settings = {
            'marionette.port': port,
            'layout.css.prefers-color-scheme.content-override': 0 if scheme == 'dark' else 1,
            'security.fileuri.strict_origin_policy': False,  # frame.html reads its frame
        }
        lines = [f'user_pref("{name}", {json.dumps(value)});\n' for name, value in settings.items()]
        pathlib.Path(self.profile.name, 'user.js').write_text(''.join(lines))
        command = ['firefox-esr', '--headless', '--marionette', '--profile', self.profile.name,
                   '--width', '1600', '--height', '1000']
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        atexit.register(self.close)
        self.stream = self.connect(port).makefile('rwb')
        self.receive()  # a greeting
        self.send('WebDriver:NewSession')

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.profile.cleanup()

    @staticmethod
    def connect(port):
        for _ in range(300):
            try:
                return socket.create_connection(('127.0.0.1', port))
            except OSError:
                time.sleep(0.2)
        sys.exit('Firefox does not answer')

    def receive(self):
        length = b''
        while (digit := self.stream.read(1)) != b':':
            if not digit:
                sys.exit('Firefox closed the connection')
            length += digit
        return json.loads(self.stream.read(int(length)))

    def send(self, name, **parameters):
        message = json.dumps([0, 1, name, parameters]).encode()
        self.stream.write(b'%d:%s' % (len(message), message))
        self.stream.flush()
        _, _, error, result = self.receive()
        if error:
            sys.exit(f'{name}: {error["message"]}')
        return result

    def open(self, page):
        self.send('WebDriver:Navigate', url=pathlib.Path(page).absolute().as_uri())

    def run(self, script):
        return self.send('WebDriver:ExecuteScript', script=script, args=[])['value']

    def press(self, key):
        strokes = [{'type': 'keyDown', 'value': key}, {'type': 'keyUp', 'value': key}]
        self.send('WebDriver:PerformActions', actions=[{'type': 'key', 'id': 'keyboard', 'actions': strokes}])


def unreached_by_tab(firefox, page):
    firefox.open(page)
    controls = firefox.run(CONTROLS)
    for _ in range(2 * controls + 10):  # Tab stops at areas that scroll, too
        firefox.press(TAB)
    return controls, firefox.run(UNREACHED)


def main():
    scheme, *pages = sys.argv[1:]
    firefox = Firefox(scheme)
    for page in pages:
        if scheme == '--tab':
            controls, unreached = unreached_by_tab(firefox, page)
            print(f'{page}: {controls} controls, not reached by Tab: {", ".join(unreached) or "none"}')
        else:
            firefox.open(page)
            print(firefox.run(ROOT))


main()

// @ts-check
/* The page of /verify: reads the file that a person chose, and says what the verifier before this text found. */

const form = /** @type {HTMLFormElement | null} */ (document.querySelector('#verify'));
const verdict = document.querySelector('#verdict');

const verifyFile = async () => {
  if (!form || !verdict) return;
  const { files } = /** @type {HTMLInputElement} */ (form.elements.namedItem('file'));
  const { value } = /** @type {HTMLInputElement} */ (form.elements.namedItem('key'));
  const file = files?.[0];
  if (!file) return;
  verdict.className = 'notice';
  verdict.textContent = 'Reading the file…';
  const keys = value.split(/\s+/).filter((key) => key !== '');
  // @ts-expect-error the verifier is in the same file when it is served
  const found = await verifyExport(file.stream(), { keys });
  // @ts-expect-error
  verdict.textContent = verdictText(found);
  verdict.className = `notice ${found.status === 0 ? 'good' : 'bad'}`;
};

if (form) {
  form.hidden = false;
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void verifyFile();
  });
}

// Shows the buttons that copy a text, which need script.
const copy = async (button) => {
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = 'Copied';
  } catch {
    button.textContent = 'Select it, and copy it by hand';
  }
};
for (const button of document.querySelectorAll('button[data-copy]')) {
  button.hidden = false;
  button.addEventListener('click', () => void copy(button));
}

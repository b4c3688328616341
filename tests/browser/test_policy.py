"""What the app's answers forbid a browser; that its own pages work under the same policy, every other test shows."""

from __future__ import annotations

from playwright.sync_api import Browser, Page

# A page is given things of somebody else's, as a label that got into it as HTML could.
INTRUDE = """() => new Promise((done) => {
  const refused = [];
  document.addEventListener('securitypolicyviolation', (event) => {
    refused.push(event.effectiveDirective);
    if (refused.length === 4) done(refused.sort());
  });
  const script = document.createElement('script');
  script.textContent = 'window.intruded = true';
  document.body.append(script);
  document.body.insertAdjacentHTML('beforeend', '<i onclick="window.intruded = true">i</i>');
  document.body.lastChild.click();
  document.body.insertAdjacentHTML('beforeend', '<img src="https://example.org/picture.png">');
  fetch('https://example.org/').catch(() => {});
})"""


def test_nothing_of_others_gets_into_a_page(browser: Browser, server: str) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(server)
        assert page.evaluate(INTRUDE) == ["connect-src", "img-src", "script-src-attr", "script-src-elem"]
        assert page.evaluate("window.intruded") is None


def test_other_pages_cannot_frame_the_app(browser: Browser, server: str) -> None:
    with browser.new_context() as context:
        page: Page = context.new_page()
        page.goto(f"data:text/html,<iframe src='{server}'></iframe>")
        (frame,) = page.main_frame.child_frames
        assert frame.url.startswith("chrome-error:")

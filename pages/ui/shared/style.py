"""The few rules of style that the theme has no setting for."""

from __future__ import annotations

import streamlit as st

from acvb_core.views.theme import INVERSION, LINE, MUTED, css_colour

#: How a value that stands out in a table is marked: seen on a light and on a dark page.
MARKED = "background-color: rgba(86, 180, 233, 0.3); font-weight: 600"
_QUIET, _FOCUS = css_colour(MUTED), "light-dark(#0072B2, #56B4E9)"
_STYLE = f"""
<style>
.stMainBlockContainer {{ padding-inline: clamp(1.5rem, 4vw, 5rem); max-width: 1500px; }}
.st-key-follow_browser {{ position: absolute; width: 0; height: 0; overflow: hidden; }}
.st-key-data_name .stText {{ font-size: 1.35rem; font-weight: 600; }}
.st-key-sidebar_state .stText {{ font-weight: 600; }}
.st-key-conclusion, .st-key-verdict {{ padding-block: 0.6rem; }}
.st-key-verdict .st-key-conclusion {{ padding: 0; }}
div:has(> [class*="st-key-"][class*="_loader"]) {{ position: absolute; }}
[class*="st-key-topic_step_"] button [data-testid="stMarkdownContainer"],
[class*="st-key-feature_step_"] button [data-testid="stMarkdownContainer"] {{
  position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }}
[class*="st-key-unsaved_"] .stText {{ font-size: 0.8rem; line-height: 1.3; overflow-wrap: anywhere; }}
.st-key-deleted_runs {{ padding-block: 0.35rem; }}
.st-key-picture {{ display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 0.9rem; }}
.st-key-picture_name .stText {{ font-size: 0.8rem; color: {_QUIET}; }}
.st-key-picture > div {{ width: 100% !important; min-width: 0; }}
@media (max-width: 700px) {{ .st-key-picture {{ grid-template-columns: minmax(0, 1fr); }} }}
:is(.st-key-upload_kind, .st-key-guide_model, [class*="model_choice"]) [role="radiogroup"] {{
  flex-wrap: wrap !important; }}
.run-name {{ display: flex; align-items: center; gap: 0.5rem; overflow-wrap: anywhere; font-weight: 600; }}
.picture-name {{ font-size: 0.75rem; color: {_QUIET}; }}
img.tones {{ display: block; border: 1px solid {css_colour(LINE)}; }}
[class*="st-key-"][class*="_loader"] {{ overflow: hidden; }} /* nothing to scroll to */
.stSelectbox input {{ text-overflow: ellipsis; }}
.stCheckbox .stMarkdownEllipsis, .stCheckbox .stMarkdownEllipsis p {{ white-space: normal; }} /* never cut */
.heatmap-label [style*="rgb(68, 68, 68)"] {{ fill: #0B1117 !important; }} /* Plotly's own is below 4.5:1 on colours */
[data-testid^="stBaseButton-primary"]:not(:disabled), .stMultiSelect :is(span[title], span[title] + button) {{
  color: light-dark(#FFFFFF, #0B1117); }}
[data-testid="stCaptionContainer"] {{ opacity: 0.8; }} /* Streamlit's own 0.6 is below 4.5:1 */
[aria-label="Download as CSV"] {{ display: none; }} /* a table's own file does not guard formulas */
.stMain :is(a, button, input, textarea, summary, [tabindex], [role="radio"]):focus-visible,
.stSidebar :is(a, button, input, textarea, summary, [tabindex]):focus-visible {{
  outline: 2px solid {_FOCUS} !important; outline-offset: 1px; }}
:is(.topic-head, .feature-head, .cluster-head) {{ display: flex; align-items: center; gap: 0.6rem;
  font-size: 1.35rem; line-height: 1.7rem; }}
:is(.topic-head, .feature-head, .cluster-head) span {{ min-width: 2rem; padding: 0 0.4rem; border-radius: 1rem;
  text-align: center; font-weight: 600; font-size: 1.05rem; box-sizing: border-box; }}
:is(.topic-head, .feature-head, .cluster-head) strong {{ font-weight: 600; overflow-wrap: anywhere; }}
</style>
"""
# Pictures of data are inked on white: on a dark page their tones are turned round, as those of figures are.
_DARK_PICTURES = f"""
<style>
.js-plotly-plot .imagelayer image, img.tones {{ filter: invert({INVERSION}) hue-rotate(180deg); }}
</style>
"""


def apply_style() -> None:
    """Apply the rules to the page; takes no room."""
    st.html(_STYLE + (_DARK_PICTURES if st.context.theme.type == "dark" else ""))

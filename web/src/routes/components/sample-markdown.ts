/** A text with every Markdown element. */
export const SAMPLE = `# A heading

“Quotes”, *emphasis*, **weight**, \`code\`, a [link](https://example.org) and a formula: $e^{i\\pi} + 1 = 0$.

> A quote.

1. First
2. Second
   - inside

| year | messages | kept |
|---|--:|--:|
| 2024 | 10,412 | 2,000 |
| 2025 | 9,871 | 2,000 |

\`\`\`python
def evolve(state: State, event: Event) -> State:
    """Pure: no clock, no chance."""
    return state
\`\`\`

\`\`\`mermaid
graph LR
  fact --> period --> thread
\`\`\`

$$\\int_0^1 x^2 \\, dx = \\tfrac{1}{3}$$

שלום עולם, نص من اليمين إلى اليسار.
`;

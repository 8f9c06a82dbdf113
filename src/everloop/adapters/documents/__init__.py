"""Text of attached documents: PDF, Word, Excel, PowerPoint and OpenDocument."""

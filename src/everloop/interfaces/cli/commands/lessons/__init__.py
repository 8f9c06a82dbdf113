"""Commands on lessons: propose, use, judge, promote."""

"""Commands on lessons: propose, use, rate, test and promote them."""

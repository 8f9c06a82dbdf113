"""Commands on skills, personas, teams, packs and the manifest."""

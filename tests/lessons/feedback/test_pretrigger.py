"""The pretrigger passes feedback and filters out ordinary turns."""

from collections.abc import Sequence

import pytest
from tests.lessons.feedback.sentences import BLAME, PRAISE
from tests.lessons.feedback.sentences import ORDINARY as EVERYDAY

from everloop.lessons.feedback.pretrigger import is_interrupt, may_contain_feedback
from everloop.lessons.feedback.settings import FeedbackSettings

SHORT = FeedbackSettings().short_words
FEEDBACK = """
thanks!
perfect
exactly what I wanted
great, that works now
Nice. Now do the same for the other file.
that's right
No.
nope, that is wrong
that's not what I asked for
it still fails with the same error
still not working
doesn't work
That didnt work either, the build is red and CI complains about the lock file again.
this is broken now
you broke the tests
stop adding comments
don't do that
wtf
why did you remove the tests
I told you not to touch the migrations
wrong file
revert that please
you should have asked first
good job, that was exactly what I needed
It works perfectly, thank you so much for the quick fix and the explanation.
isnt working
that is a bug
this is useless, I asked for three lines and got a whole framework around them
You ignored the lesson about the changelog again, and the release notes are empty.
how come you still use npm
Danke, genau so!
das funktioniert nicht
c'est parfait, merci
ça ne marche pas
perfecto, gracias
não, está errado
è sbagliato
dat klopt niet
Following that rule cost me an hour, please never do it again.
That advice made everything slower.
This made things worse for the whole team and we are still cleaning up after it.
I lost all my changes because of that tip.
That's the opposite of what I asked.
You keep doing the thing I asked you to avoid.
This is not helping.
That rule is harmful, get rid of it.
It deleted my data when I followed the advice.
Clearing the cache first was a waste of time.
The lesson about caches is nonsense.
Your suggestion caused an outage in production last night.
Please forget that rule, it does not apply here.
I hate it when you do that.
That was a terrible idea.
We had to roll back because of this and the customers noticed.
None of that was necessary and it took the whole morning to clean up.
That's misleading.
It's outdated advice, nobody has used that flag since the second version.
this keeps happening
I wish you would leave the lock file alone, this is the third time today.
Your change took the site down and I spent the evening putting it back.
That tip has only caused trouble since we started to follow it.
Please drop the rule about clearing the cache, it slows every build down.
I am disappointed, the migration ran twice because of what you suggested.
That rule backfired badly when the second worker started.
You made it worse by deleting the lock file.
Do not follow that rule any more, it cost us the whole afternoon.
The tip about clearing the cache saved me an hour today.
That rule really helped.
Clearing the cache first solved it right away, keep doing that.
I love how you always check the lock file first.
Finally somebody who reads the docs before changing code, much appreciated.
That did it.
Spot on.
Yes, keep that rule, it has been very useful to us all week.
All tests pass now, brilliant advice with the cache.
That was helpful.
The advice about the lock file paid off when the second release went out.
I am really happy with how the build went after we followed the rule.
You were right about the cache, that was the cause all along.
Good thing you checked the lock file before you changed anything.
I spent two hours fixing what that advice did to the database.
The rule about formatting ruined our diff and nobody could review it.
Please do not suggest that again.
Since we follow this rule the nightly job has been failing.
That lesson does more harm than good for a project of our size.
You told me to restart the server and now the customers are offline.
I had to undo everything by hand this morning.
This habit of yours slows me down every single day.
Your tip led me astray, the flag does not exist any more.
We lost a day to this.
I don't want you to squash the branches, stop it.
It would have been better if you had left the config as it was.
That rule about backups rescued us yesterday.
Checking the lock file first has made a real difference for the team.
I'm glad you remembered the port this time.
The build is green thanks to your hint about the cache.
Keep doing it like this, it is precisely how we work here.
That advice just cost me an hour.
You broke the login page again.
This is the third time you forgot the migration.
I told you not to touch the config file.
The rule about caching made everything slower.
Please stop rewriting my comments.
That was completely unnecessary.
Your fix introduced a new bug.
Not what I asked for.
Why did you delete the tests?
This answer is useless to me.
Das hat überhaupt nicht geholfen.
Du hast schon wieder die falsche Datei geändert.
Der Hinweis war Quatsch.
Hör auf, ständig alles umzubenennen.
Deswegen ist jetzt der Build kaputt.
Ich hatte doch gesagt, keine neuen Abhängigkeiten.
Das war eine schlechte Idee von dir.
Tu as encore cassé la page d'accueil.
Ce conseil ne m'a servi à rien.
Ce n'est pas du tout ce que je voulais.
Arrête de modifier mes fichiers.
Ta solution ne marche pas.
À cause de toi j'ai perdu ma matinée.
That tip saved my afternoon.
Exactly what I needed.
Nice, the tests are green on the first try.
You nailed it.
Great catch with the time zone.
Works like a charm now.
Good thinking to run the lock first.
Der Tipp mit dem Cache war Gold wert.
Super gemacht.
Genau so wollte ich es haben.
Klasse, jetzt läuft alles.
Das hat mir sehr geholfen.
Bravo, c'est parfait.
Ton conseil m'a beaucoup aidé.
Exactement ce qu'il me fallait.
Ça marche à merveille, merci.
Très bonne idée, ce test.
You always overcomplicate things.
The page has been down since your change.
I spent all evening cleaning up after you.
My data is gone now.
Who asked you to upgrade the framework?
Seriously, this was supposed to be simple.
Jetzt geht gar nichts mehr.
Dein Vorschlag hat uns einen Tag gekostet.
So war das nicht gedacht.
Tes changements ont tout ralenti.
C'était une perte de temps.
Rien ne fonctionne depuis ta modification.
Couldn't have done it better myself.
Brilliant, keep doing that.
This made my day.
Respekt, saubere Lösung.
Seit deinem Tipp läuft es viel schneller.
Das gefällt mir sehr.
Chapeau, rien à redire.
Grâce à toi tout est plus rapide.
J'adore cette solution.
I don't trust these numbers at all.
You replaced my whole design without asking.
Half of the links are dead now.
Too verbose, nobody reads that.
Das ist viel zu kompliziert geworden.
Du hörst mir nicht zu.
Die Tests sind alle rot.
C'est beaucoup trop long.
Tu ne m'écoutes pas.
Les tests échouent depuis ce matin.
Impressive, I learned something.
Much clearer than before.
Best summary so far.
Endlich verstehe ich es, danke dir.
Sehr schön erklärt.
Beeindruckend schnell.
Impeccable, on garde ça.
Enfin une réponse claire.
""".strip().splitlines()
ORDINARY = """
Please add a function that parses the header and returns the fields as a map.
What does the scheduler do when two jobs have the same priority and both are late?
The report goes to the finance team every Monday morning, so it must be there by eight.
Let's look at the second module and see how it reads the configuration at start.
I was in the mountains last week and took about two hundred pictures of the lake.
Write a summary of the meeting for the people who could not come, in five sentences.
Could you explain how the cache decides what to throw away when it is full?
Rename the class to Parser and move it into its own file next to the lexer.
My sister is coming on Friday, and we want to cook something with the children.
Then open a pull request with a short description and ask Maria to look at it.
The second test reads a file of three hundred lines and compares the sums in it.
Add a rule to the linter configuration that forbids relative imports in this package.
Where do we keep the time zone of a user, and who sets it when they travel?
Take the numbers of last month and draw them as a chart with one bar for each day.
Explain why the second query is slower than the first one when the table is large.
Thanks, bye.
ok thank you so much, good night!
Danke, bis morgen
thanks for today, see you tomorrow
that's all for now, thanks
Add a button to the settings page.
What does this function return?
Move the meeting to Thursday.
The server runs on port 8080.
List all open pull requests.
Rename the variable to total.
Can you explain how the scheduler picks a job?
Write a haiku about rain.
Füge eine Spalte für das Datum hinzu.
Wie spät ist es in Tokio?
Der Kunde kommt morgen um zehn.
Zeig mir die letzten drei Commits.
Übersetze den Text ins Englische.
Ajoute un champ pour l'adresse.
Quelle est la différence entre ces deux versions ?
Le rendez-vous est à quinze heures.
Montre-moi le contenu du fichier.
Traduis ce paragraphe en allemand.
Open the report from last week.
Schreib eine Mail an Frau Weber.
Combien de pages a ce document ?
Which branch is checked out?
Der Zug fährt um acht.
Il pleut à Lyon aujourd'hui.
Summarise the meeting notes in five lines.
Create a new table for invoices.
""".strip().splitlines()


@pytest.mark.parametrize("text", FEEDBACK)
def test_feedback_passes_the_filter(text: str) -> None:
    assert may_contain_feedback(text, short_words=SHORT)


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_turns_are_filtered_out(text: str) -> None:
    assert not may_contain_feedback(text, short_words=SHORT)


@pytest.mark.promise("P-HEAR-1")
@pytest.mark.parametrize(
    ("texts", "least", "most"),
    [(BLAME, 0.97, 1.0), (PRAISE, 0.97, 1.0), (EVERYDAY, 0.0, 0.15)],
    ids=["blame", "praise", "everyday"],
)
def test_nearly_all_blame_and_praise_passes_and_little_else(
    texts: Sequence[str], least: float, most: float
) -> None:
    through = sum(may_contain_feedback(text, short_words=SHORT) for text in texts)
    assert least <= through / len(texts) <= most


def test_blame_after_a_long_paste_passes() -> None:
    paste = "Step 12 of the build ran for 3 s\n" * 2_000
    assert not may_contain_feedback(paste, short_words=SHORT)
    assert may_contain_feedback(f"{paste}Your patch left the lock file out.", short_words=SHORT)


def test_a_word_of_thanks_in_a_long_turn_is_courtesy() -> None:
    assert may_contain_feedback("thanks a lot", short_words=SHORT)
    long = "Thanks, next I would like to see how the second service reads its settings at start"
    assert not may_contain_feedback(long, short_words=SHORT)


@pytest.mark.parametrize("sign", ["'", "\u2019", ""])
def test_an_apostrophe_may_be_straight_or_curly_or_left_out(sign: str) -> None:
    long = f"I tried it on both machines with a clean checkout and it doesn{sign}t work on either"
    assert may_contain_feedback(long, short_words=SHORT)


def test_a_word_inside_another_is_not_that_word() -> None:
    assert not may_contain_feedback("open the notebook on Bugatti", short_words=SHORT)


def test_an_empty_turn_has_no_feedback() -> None:
    assert not may_contain_feedback("", short_words=SHORT)


def test_a_long_paste_is_scanned_quickly() -> None:
    assert not may_contain_feedback("it is all so very really " * 40_000, short_words=SHORT)


@pytest.mark.parametrize(
    "text", ["[Request interrupted by user]", "\n[Request interrupted by user for tool use]"]
)
def test_the_marker_of_an_interrupt_is_recognised(text: str) -> None:
    assert is_interrupt(text)
    assert not is_interrupt(f"I saw {text}")

"""Messages to an assistant in English, German and French, written before the rules that sort them.

Their author made the rules of `statements`, and had looked at the first half of each list by then.
So what passes here is an upper bound of what passes elsewhere.
"""

from typing import Final

BLAME: Final = """
You broke the build again.
The tests you wrote don't even run.
I asked for three bullet points and got an essay.
Why did you delete my config file?
You ignored the style guide completely.
This still crashes on startup, exactly like before your fix.
Half of these links go nowhere.
You made up that function; it doesn't exist in pandas.
No, read the question again.
I never told you to push to main.
That cost me an hour for nothing.
The numbers in your table do not add up.
You forgot the null check.
Please stop changing files I didn't mention.
The migration you ran wiped the staging database.
How many times do I have to say no emojis?
Your summary leaves out the most important point.
That's not at all what I meant.
You said it was done, but nothing changed.
It was supposed to be in French.
You mixed up Anna and Maria.
The date is wrong, the meeting was on Tuesday.
Sloppy work.
I had to redo all of it by hand.
You overwrote my changes without asking.
Terrible answer.
You keep using tabs even though the repo uses spaces.
This makes no sense.
The customer got two invoices because of your script.
You should have asked first.
Nope, the endpoint returns 404 with that path.
I'm disappointed, this worked yesterday.
Undo that, it made everything slower.
You misread the log, the timeout came first.
The regex misses every line with an umlaut.
Not good enough.
You were told to keep the old API.
That was a bad idea, we lost a day.
The code doesn't compile.
Again the wrong file.
Du hast schon wieder den Build kaputt gemacht.
Das war nicht, was ich wollte.
Warum hast du meine Datei gelöscht?
Die Zahlen stimmen nicht.
Das funktioniert immer noch nicht.
Ich habe dich nicht gebeten, das zu pushen.
Du hast die Hälfte vergessen.
Das ist doch Quatsch.
Deine Zusammenfassung lässt das Wichtigste weg.
Ich musste alles von Hand neu machen.
Die Funktion gibt es gar nicht, die hast du erfunden.
Bitte lies die Frage noch einmal richtig.
Du solltest auf Deutsch antworten.
Wegen dir hat der Kunde zwei Rechnungen bekommen.
Wie oft soll ich noch sagen, dass ich keine Emojis will?
Du verwechselst hier Netto und Brutto.
Das hat mich eine Stunde gekostet.
Nein, falsch.
Der Test schlägt wegen deiner Änderung fehl.
Das hättest du vorher fragen müssen.
Schlampig gearbeitet.
Die Liste ist unvollständig.
Es stürzt nach deinem Fix weiterhin ab.
Du hörst mir nicht zu.
Das ist viel zu lang, ich wollte drei Sätze.
Mach das rückgängig, jetzt ist alles langsamer.
So war das nicht gemeint.
Damit bin ich überhaupt nicht zufrieden.
Du hast Anna und Maria verwechselt.
Der Link führt ins Leere.
Tu as encore cassé la compilation.
Ce n'est pas ce que j'ai demandé.
Pourquoi as-tu supprimé mon fichier ?
Les chiffres sont faux.
Ça ne marche toujours pas.
Je ne t'ai jamais demandé de pousser sur main.
Tu as oublié la moitié.
C'est n'importe quoi.
Ton résumé passe à côté de l'essentiel.
J'ai dû tout refaire à la main.
Cette fonction n'existe pas, tu l'as inventée.
Relis la question.
Tu devais répondre en français.
À cause de ton script, le client a reçu deux factures.
Combien de fois faut-il te dire de ne pas mettre d'émojis ?
Tu confonds le net et le brut.
J'ai perdu une heure à cause de ça.
Non, c'est faux.
Le test échoue depuis ta modification.
Tu aurais dû me demander avant.
Du travail bâclé.
La liste est incomplète.
Ça plante encore après ton correctif.
Tu ne m'écoutes pas.
C'est beaucoup trop long, je voulais trois phrases.
Annule ça, tout est plus lent maintenant.
Ce n'est pas du tout ce que je voulais dire.
Je ne suis pas satisfait du résultat.
Tu t'es trompé de fichier.
Le lien ne mène nulle part.
The email you drafted sounds rude and my boss noticed.
I've told you twice that we say "clients", not "customers".
You booked the wrong train.
This recipe has no salt in it, how did you miss that?
Your translation changed the meaning of the second sentence.
None of the citations exist.
I can't believe you sent it before I approved it.
You were supposed to wait for me.
The chart is upside down.
Stop guessing and look at the file.
You answered a different question.
This is the opposite of concise.
Now the whole page is blank.
You dropped the last three rows.
I don't want excuses, I want it to run.
The tone is way off.
Why do you always apologise instead of fixing it?
You contradict yourself: first you said ten, now twelve.
The invoice total is off by 200 euros.
My colleagues laughed at that slide.
You should know by now that I'm vegetarian.
That is not how our API works.
You've been going in circles for an hour.
The script you gave me ate all the disk space.
I had to apologise to the customer because of your mail.
Please don't invent prices.
It looks nothing like the mock-up.
You skipped the tests again.
Hm, that can't be right.
You renamed things nobody asked you to rename.
Die Mail, die du geschrieben hast, klingt unhöflich.
Du hast den falschen Zug gebucht.
Keine der Quellen existiert.
Deine Übersetzung verdreht den Sinn.
Jetzt ist die ganze Seite leer.
Du solltest doch auf mich warten.
Hör auf zu raten und schau in die Datei.
Die Rechnung ist um 200 Euro daneben.
Du hast die letzten drei Zeilen weggelassen.
Ich hab dir schon zweimal gesagt, dass wir siezen.
So funktioniert unsere Schnittstelle nicht.
Du drehst dich seit einer Stunde im Kreis.
Warum entschuldigst du dich ständig, statt es zu reparieren?
Bitte erfinde keine Preise.
Das sieht ganz anders aus als der Entwurf.
Der Ton passt überhaupt nicht.
Das kann nicht stimmen.
Du widersprichst dir.
Meine Kollegen haben über die Folie gelacht.
Ich musste mich beim Kunden entschuldigen.
Le mail que tu as rédigé est impoli.
Tu as réservé le mauvais train.
Aucune des sources n'existe.
Ta traduction déforme le sens.
Maintenant toute la page est vide.
Tu devais m'attendre.
Arrête de deviner et regarde le fichier.
Il y a 200 euros d'écart sur la facture.
Tu as laissé tomber les trois dernières lignes.
Je t'ai dit deux fois qu'on se vouvoie.
Notre API ne fonctionne pas comme ça.
Tu tournes en rond depuis une heure.
Pourquoi t'excuses-tu au lieu de réparer ?
N'invente pas de prix.
Ça ne ressemble pas du tout à la maquette.
Le ton n'est pas du tout le bon.
Ça ne peut pas être juste.
Tu te contredis.
Mes collègues ont ri de cette diapo.
J'ai dû m'excuser auprès du client.
""".strip().splitlines()

PRAISE: Final = """
That's exactly what I needed, thank you!
Great job on the refactoring.
Works like a charm now.
The summary you wrote is spot on.
Brilliant, all tests are green.
You saved me hours.
I love how you structured the docs.
Nice catch with the off-by-one error.
Perfect.
Much better than the last version.
The client was delighted with your report.
That fixed it, thanks.
You nailed it.
Really helpful explanation.
Good thinking to ask before deleting.
Yes! That did the trick.
Well done.
I'm impressed by how fast that went.
Excellent work, keep doing it that way.
This is way cleaner than what I had.
Awesome, it runs without errors now.
You were right about the cache.
Beautiful.
It finally works, thanks to you.
Couldn't have done it better myself.
Genau das habe ich gebraucht, danke!
Gute Arbeit beim Refactoring.
Jetzt läuft es wie geschmiert.
Deine Zusammenfassung trifft es genau.
Super, alle Tests sind grün.
Du hast mir Stunden gespart.
Klasse gemacht.
Gut aufgepasst mit dem Fehler.
Perfekt.
Viel besser als die letzte Version.
Der Kunde war begeistert von deinem Bericht.
Das hat das Problem gelöst, danke.
Sehr hilfreiche Erklärung.
Gut, dass du vorher gefragt hast.
Ich bin beeindruckt.
Mach weiter so.
Endlich funktioniert es, dank dir.
Du hattest recht mit dem Cache.
C'est exactement ce qu'il me fallait, merci !
Bon travail sur la refonte.
Maintenant ça marche à merveille.
Ton résumé est très juste.
Génial, tous les tests passent.
Tu m'as fait gagner des heures.
Bravo.
Bien vu pour l'erreur d'indice.
Parfait.
Bien mieux que la dernière version.
Le client a adoré ton rapport.
Ça a résolu le problème, merci.
Explication très utile.
Tu as bien fait de demander avant.
Je suis impressionné.
Continue comme ça.
Ça marche enfin, grâce à toi.
Tu avais raison pour le cache.
My boss loved the email.
That's a lovely way to put it.
You got it right on the first attempt.
The trip you planned was wonderful.
Wow, that was fast.
I couldn't have written this myself.
Your explanation finally made it click for me.
Clean, short, to the point.
Thanks for catching the wrong date.
This is the best summary I have read on the topic.
Keep this style for all reports.
The recipe turned out delicious.
You understood exactly what I meant.
I like how you named the functions.
Problem solved!
Meine Chefin fand die Mail toll.
Schön formuliert.
Du hast sofort verstanden, was ich meine.
Die Reise war wunderbar geplant.
Wow, das ging schnell.
Danke, dass dir das falsche Datum aufgefallen ist.
Kurz und auf den Punkt.
Behalte diesen Stil bei.
Das Rezept ist köstlich geworden.
Mir gefällt, wie du die Funktionen benannt hast.
Ma chef a adoré le mail.
C'est joliment dit.
Tu as tout de suite compris ce que je voulais.
Le voyage était merveilleusement organisé.
Ouah, c'était rapide.
Merci d'avoir repéré la mauvaise date.
Court et précis.
Garde ce style pour tous les rapports.
La recette était délicieuse.
J'aime bien les noms que tu as donnés aux fonctions.
""".strip().splitlines()

ORDINARY: Final = """
What does this regex do?
Add a dark mode toggle to the settings page.
Can you run the tests?
My flight leaves at nine on Friday.
Write a haiku about rain.
How do I fix a broken pipe error in Python?
The server returns 500 when the payload is empty; find out why.
Summarise the attached article.
Let's go with option B.
Which of the two is faster?
I prefer tea to coffee.
Translate this into German: the house is big.
Delete the old branch, please.
There's a bug in the checkout page, can you look?
Remind me tomorrow to call Sam.
Continue.
What's wrong with this code?
Make the button larger.
I'm working on a great new project about birds.
We use PostgreSQL 16 in production.
Explain why this test fails.
Rename the variable to total.
Is it possible to undo a commit?
Please write a cover letter for a good job at a bank.
The film was terrible, the actors were great.
Where did we leave off?
Open a pull request with these changes.
My sister forgot her keys again.
Thanks, now the second part.
How many errors are in the log?
The old vendor broke our build all the time.
Yes, do it.
Compare Rust and Go for a small service.
When did I last back up?
Draft a polite complaint: the delivery came late and broken.
I need a better chair.
List all files larger than 10 MB.
What is the best way to learn French?
Set the timeout to 30 seconds.
Show me the last five commits.
Was macht dieser Ausdruck?
Füge einen Dunkelmodus hinzu.
Kannst du die Tests laufen lassen?
Mein Flug geht am Freitag um neun.
Schreib ein Gedicht über Regen.
Der Server liefert 500 bei leerem Inhalt; finde heraus, warum.
Fasse den Artikel zusammen.
Nehmen wir Variante B.
Ich trinke lieber Tee als Kaffee.
Lösche bitte den alten Zweig.
Auf der Bezahlseite ist ein Fehler, schaust du mal?
Weiter.
Mach den Knopf größer.
Wir nutzen PostgreSQL 16.
Erkläre, warum dieser Test fehlschlägt.
Meine Schwester hat wieder ihren Schlüssel vergessen.
Der Film war schrecklich, die Schauspieler waren großartig.
Wie viele Fehler stehen im Protokoll?
Ja, mach das.
Zeig mir die letzten fünf Commits.
Que fait cette expression ?
Ajoute un mode sombre.
Peux-tu lancer les tests ?
Mon vol part vendredi à neuf heures.
Écris un poème sur la pluie.
Le serveur renvoie 500 quand le contenu est vide ; cherche pourquoi.
Résume l'article.
Prenons l'option B.
Je préfère le thé au café.
Supprime l'ancienne branche.
Il y a un bug sur la page de paiement, tu peux regarder ?
Continue.
Agrandis le bouton.
Nous utilisons PostgreSQL 16.
Explique pourquoi ce test échoue.
Ma sœur a encore oublié ses clés.
Le film était affreux, les acteurs étaient formidables.
Combien d'erreurs y a-t-il dans le journal ?
Oui, vas-y.
Montre-moi les cinq derniers commits.
Book a train to Hamburg for Monday.
What time is it in Lagos?
Write an email to my landlord about the heating.
Which train is the cheapest?
Let's rename the module to billing.
My daughter starts school next week.
How does photosynthesis work?
Put the chart on page two.
The invoice is due on the 14th.
Use the same colours as on the website.
I'm allergic to peanuts.
Our API returns JSON.
Can you check the total of the invoice?
Open the file and count the rows.
Send it tomorrow at nine.
Please explain what a monad is.
We moved to Lisbon in March.
Make a table of the ten largest cities.
Who wrote this book?
Add a slide about costs.
The meeting was moved to room four.
Next, the tests for the parser.
Remember that I like short answers.
What would you recommend for dinner?
Run it once more with the small file.
Compare the two offers.
I'd like a reminder on Friday.
Turn this list into a paragraph.
Is the shop open on Sunday?
Try the second approach too.
Buche einen Zug nach Hamburg.
Wie spät ist es in Lagos?
Schreib meinem Vermieter wegen der Heizung.
Meine Tochter kommt nächste Woche in die Schule.
Wie funktioniert Photosynthese?
Die Rechnung ist am 14. fällig.
Ich habe eine Erdnussallergie.
Öffne die Datei und zähle die Zeilen.
Kannst du die Summe prüfen?
Wir sind im März nach Lissabon gezogen.
Füge eine Folie über Kosten hinzu.
Vergleiche die beiden Angebote.
Hat der Laden am Sonntag offen?
Mach eine Tabelle der zehn größten Städte.
Was empfiehlst du zum Abendessen?
Réserve un train pour Lyon.
Quelle heure est-il à Lagos ?
Écris à mon propriétaire au sujet du chauffage.
Ma fille entre à l'école la semaine prochaine.
Comment fonctionne la photosynthèse ?
La facture est à payer le 14.
Je suis allergique aux arachides.
Ouvre le fichier et compte les lignes.
Peux-tu vérifier le total ?
Nous avons déménagé à Lisbonne en mars.
Ajoute une diapo sur les coûts.
Compare les deux offres.
Le magasin est-il ouvert le dimanche ?
Fais un tableau des dix plus grandes villes.
Que me conseilles-tu pour le dîner ?
""".strip().splitlines()

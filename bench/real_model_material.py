"""Material of the real-model programme: forty messages, questions, days, feedback, narratives."""

_FACTS = (
    ("My sister Ida moved to Bergen last week.", "Bergen suits her, I hope."),
    ("The boiler man comes on the ninth, he charges 80 euros.", "Good to know."),
    ("Anna is allergic to nuts, so no more pesto for us.", "Pesto can be made without nuts."),
    ("I parked the bike behind the library.", "All right."),
    ("Our wifi at the cabin is called Heron.", "A nice name."),
    ("My dentist is Dr. Okafor now.", "I hope that goes well."),
    ("We decided to paint the hall green.", "Green is calm."),
    ("The spare key hangs under the third pot.", "Fine."),
    ("Tom turns seven on the 4th of June.", "Seven already."),
    ("I stopped drinking coffee, tea only.", "Tea it is."),
    ("The car needs a new battery before winter.", "Winter is hard on batteries."),
    ("My boss Lena is on leave until March.", "Until March, then."),
    ("We called the cat Pixel.", "A small name for a small cat."),
    ("The choir meets in room 12 this term.", "Room 12."),
    ("I lent my drill to Marek.", "Marek will bring it back."),
    ("The train to Ghent leaves from platform 5.", "Platform 5."),
    ("Grandma's recipe needs two spoons of cardamom.", "That is a lot of cardamom."),
    ("My passport expires in October 2027.", "There is some time."),
    ("The plumber's name is Ruiz.", "Ruiz."),
    ("I want all answers in short sentences.", "Short it is."),
)
TOLD = tuple(line for pair in _FACTS for line in pair)
QUESTIONS = (
    ("Where does Ida live now?", "Bergen"),
    ("How much does the boiler man charge?", "80"),
    ("What can't Anna eat?", "nut"),
    ("Where is my bike?", "library"),
    ("What is the cabin's wifi called?", "Heron"),
    ("Who is my dentist?", "Okafor"),
    ("Which colour did we choose for the hall?", "green"),
    ("Where is the spare key?", "third pot", "pot"),
    ("When is Tom's birthday?", "June"),
    ("Do I drink coffee?", "no", "tea", "stopped"),
    ("What does the car need?", "battery"),
    ("When is Lena back?", "March"),
    ("What is our cat's name?", "Pixel"),
    ("In which room does the choir meet?", "12"),
    ("Who has my drill?", "Marek"),
    ("Which platform for the train to Ghent?", "5"),
    ("How much cardamom for Grandma's recipe?", "two"),
    ("When does my passport expire?", "2027", "October"),
    ("What is the plumber called?", "Ruiz"),
    ("What is my neighbour's dog called?", "not know", "don't know", "no information", "nothing"),
)
DAYS = (
    (
        (
            "user: The tender of the school is due on 14 June, worth 42,000 euros.",
            "assistant: Noted, 14 June.",
            "user: Petra will write the budget, I write the plan.",
            "user: We decided against the blue roof, because it fades.",
        ),
        ("14 June", "42,000", "Petra", "budget", "blue roof", "fades"),
    ),
    (
        (
            "user: The server ran out of disk at 3 am, 512 GB were full.",
            "assistant: The logs were not rotated.",
            "user: I set rotation to 7 days and restarted nginx.",
            "user: Next is an alert at 80 percent.",
        ),
        ("disk", "512", "logs", "7 days", "nginx", "alert", "80"),
    ),
    (
        (
            "user: Walked from Tarn to Elva, 23 kilometres, in the rain.",
            "user: Lost my left glove at the mill.",
            "assistant: That is a long way in the rain.",
            "user: Tomorrow we take the bus 41 at nine.",
        ),
        ("Tarn", "Elva", "23", "glove", "mill", "41"),
    ),
    (
        (
            "user: Dr. Okafor says the knee needs an operation in September.",
            "user: Until then no running, swimming is fine.",
            "assistant: Swimming is easy on the knee.",
            "user: The insurance wants form B12 first.",
        ),
        ("Okafor", "knee", "operation", "September", "swimming", "insurance", "B12"),
    ),
    (
        (
            "user: The choir sings Fauré on 3 November, I have the solo.",
            "user: Rehearsals are on Tuesdays at 19:30.",
            "assistant: Fauré is a fine choice.",
            "user: Bring the black folder.",
        ),
        ("Fauré", "3 November", "solo", "Tuesday", "19:30", "black folder"),
    ),
    (
        (
            "user: We sold the old car for 2,300 euros to Marek.",
            "user: The new one is a used Zoe, it comes on Friday.",
            "assistant: An electric one, then.",
            "user: The charging box costs 890 euros; Ruiz puts it in.",
        ),
        ("2,300", "Marek", "Zoe", "Friday", "charging box", "890", "Ruiz"),
    ),
)
READINGS = (
    ("You said it works and it does not. Did you run the tests at all?", "negative"),
    ("Running the tests first saved us an hour, well done.", "positive"),
    ("Nice and short, exactly how I like it.", "positive"),
    ("Stop writing whole essays. I asked for short answers.", "negative"),
    ("Please rename the file to notes.txt.", "none"),
    ("Thanks, bye.", "none"),
)
NARRATIVES = (
    (
        ("Rotate logs", "Set up log rotation when a server is installed."),
        (
            "On 12 May the server ran out of disk at 3 am because logs were not rotated.",
            "Rotation was set to 7 days, and the disk stayed free.",
        ),
        ("observed", "inferred"),
    ),
    (
        ("Use tabs", "Use tabs for indentation in Makefiles."),
        ("Someone mentioned that Makefiles like tabs.",),
        ("speculative", "inferred", "declined"),
    ),
)

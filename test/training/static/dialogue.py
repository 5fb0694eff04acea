"""A seeded grammar of everyday dialogue: turns, questions about people, and notes an assistant would keep.

Written for this table. Its purpose is vocabulary: dates, people, hobbies, work,
health, pets, travel, food and feelings in the shapes that conversations give them.
"""

import random
import re

NAMES = """Anna Ben Clara David Emma Felix Grace Henry Iris Jack Kate Leo Maria Noah Olivia Paul Quinn Rosa Sam Tina
Victor Wendy Xavier Yara Zoe Ahmed Aisha Bruno Carmen Chen Dmitri Elena Fatima George Hana Ivan Jamal Julia Karim
Lena Luis Mei Mike Nadia Nina Oscar Priya Raj Sara Sofia Tom Uma Vera Will Yuki Alice Bob Peter Lucy Martin Laura
Daniel Emily James Sophie Andrew Natalie Kevin Rachel Brian Megan Eric Hannah Steve Amy Jason Lisa Mark Diana""".split()

RELATION = """mom|dad|sister|brother|wife|husband|partner|girlfriend|boyfriend|son|daughter|kids|grandma|grandpa|aunt|
uncle|cousin|niece|nephew|best friend|old friend|roommate|neighbor|boss|coworker|teacher|coach|therapist|doctor|
parents|in-laws|twins|classmates|team|mentor|landlord|fiance"""

ACTIVITY = """went hiking in the mountains|went camping by the lake|framed an old map|took a pottery class|ran a relay race|
baked banana bread|adopted a puppy from the shelter|visited the art museum|watched a documentary about whales|
played board games all night|started learning the guitar|joined a book club|volunteered at the food bank|
planted tomatoes in the garden|went to a concert downtown|finished a marathon|moved into a new apartment|
started a new job|got promoted at work|signed up for swimming lessons|took a road trip along the coast|
saw the northern lights|cooked dinner for everyone|went fishing|built a treehouse|repaired my old bike|
learned to surf|went skiing|did yoga in the park|wrote a short story|played the piano at a recital|
organized a birthday party|bought a used car|went to a cooking class|passed my driving test|graduated from college|
applied for a scholarship|had surgery on my knee|broke my ankle|went to physical therapy|quit smoking|
started meditating|took dance lessons|opened a small bakery|launched an online store|lost my job|
had a job interview|went to a wedding|got engaged|got married|celebrated our anniversary|had a baby|
went to a funeral|watched the parade|joined a protest|ran for the school board|coached the soccer team|
won a chess tournament|recorded a song|performed in a play|went bird watching|took photos of flowers|
made pancakes for breakfast|tried a vegan restaurant|learned to make sushi|brewed my own beer|
cleaned out the garage|painted the kitchen|planted a tree|visited my grandparents|flew to see family|
took the train across the country|got lost in the old town|went scuba diving|climbed a volcano|rode a horse|
rescued a stray cat|took the dog to the vet|knitted a scarf|sewed a dress|fixed the roof|donated clothes|
gave a talk at a conference|published my first article|finished my thesis|studied for the exam|
started therapy|called my parents|applied for a visa|toured a college campus|joined a gym|
bought a house|paid off my student loans|set up a savings account|played video games|streamed a game online|
went to an escape room|visited a national park|went kayaking|saw a play|had a picnic at the beach|made a snowman"""

THING = """guitar|violin|piano|drums|camera|laptop|phone|bike|car|necklace|ring|watch|book|novel|poem|painting|sculpture|
sketchbook|cookbook|recipe|cake|pizza|soup|salad|coffee|tea|tent|backpack|kayak|surfboard|skateboard|telescope|puzzle|
board game|video game|console|puppy|kitten|hamster|turtle|parrot|goldfish|plant|rose|sunflower|sweater|jacket|hat|
shoes|boots|dress|quilt|blanket|lamp|sofa|desk|mirror|photo album|letter|postcard|ticket|passport|medal|trophy|diploma|
vase|bowl|mug|candle|journal|podcast|playlist|album|movie|series|documentary|app|website|blog|business plan|resume"""

PLACE = """Paris|London|Tokyo|New York|Seattle|Chicago|Boston|Denver|Austin|Miami|San Francisco|Los Angeles|Toronto|Vancouver|
Mexico City|Lisbon|Barcelona|Rome|Florence|Berlin|Munich|Vienna|Prague|Athens|Istanbul|Cairo|Nairobi|Cape Town|Mumbai|
Delhi|Bangkok|Singapore|Bali|Seoul|Kyoto|Sydney|Melbourne|Auckland|Hawaii|Alaska|Iceland|Norway|Sweden|Scotland|Ireland|
Switzerland|Italy|Spain|Greece|Peru|Brazil|Argentina|Costa Rica|the Grand Canyon|the Rocky Mountains|the beach|the park|
the library|the gym|the hospital|the airport|the office|the farmers market|the community center|the animal shelter|
the museum|the zoo|the aquarium|the theater|the stadium|a small village|my hometown|the countryside|a cabin in the woods"""

JOB = """nurse|teacher|software engineer|designer|chef|baker|carpenter|plumber|electrician|lawyer|accountant|journalist|writer|
photographer|musician|actor|dancer|counselor|social worker|psychologist|therapist|veterinarian|dentist|doctor|pharmacist|
police officer|firefighter|paramedic|pilot|flight attendant|bus driver|mechanic|farmer|gardener|florist|barista|waiter|
bartender|cashier|store manager|real estate agent|banker|consultant|project manager|data analyst|scientist|biologist|
chemist|professor|librarian|translator|tour guide|personal trainer|yoga instructor|life coach|game developer|streamer|
entrepreneur|startup founder|marketing manager|recruiter|architect|civil engineer|soldier|veteran|politician|volunteer"""

FEELING = """happy|excited|proud|grateful|nervous|anxious|stressed|exhausted|overwhelmed|sad|lonely|heartbroken|angry|frustrated|
disappointed|relieved|calm|hopeful|inspired|motivated|curious|surprised|shocked|embarrassed|jealous|guilty|scared|
confident|peaceful|nostalgic|bored|confused|blessed|thankful|worried|optimistic|free|welcome|lucky|cheerful"""

HEALTH = """a cold|the flu|a headache|migraines|asthma|allergies|a fever|back pain|a sprained ankle|a broken arm|insomnia|
diabetes|high blood pressure|anxiety|depression|a toothache|a sore throat|food poisoning|a stomach ache|arthritis|
hay fever|a heart condition|weight problems|a knee injury|burnout|panic attacks"""

FOOD = """pasta|pizza|sushi|tacos|curry|ramen|pancakes|waffles|chocolate cake|apple pie|ice cream|cheesecake|cookies|
strawberries|mangoes|salmon|grilled chicken|roasted vegetables|lentil soup|fried rice|dumplings|burgers|fries|salad|
avocado toast|smoothies|lemon sorbet|peanut butter|cinnamon rolls|lasagna|risotto|stir fry|oatmeal|granola"""

HOBBY = """reading|writing|painting|drawing|pottery|photography|hiking|running|cycling|swimming|yoga|dancing|singing|
gardening|cooking|baking|knitting|sewing|woodworking|fishing|camping|surfing|skiing|snowboarding|rock climbing|
martial arts|basketball|soccer|tennis|golf|chess|board games|video games|collecting stamps|bird watching|astronomy|
traveling|learning languages|volunteering|meditation|playing the guitar|playing the piano|playing the violin|
watching movies|listening to jazz|listening to classical music|writing songs|blogging|coding|restoring old cars|
model trains|origami|calligraphy|scrapbooking|magic tricks|stand-up comedy|karaoke"""

PET = """dog|puppy|cat|kitten|rabbit|hamster|guinea pig|turtle|snake|parrot|goldfish|horse|golden retriever|labrador|beagle|
german shepherd|poodle|tabby cat|lizard|ferret"""

TOPIC = """family|friendship|love|faith|religion|politics|climate change|the environment|recycling|wildlife|education|
mental health|self-care|nutrition|fitness|sleep|money|saving|investing|taxes|rent|mortgages|insurance|technology|
artificial intelligence|robots|space|science|history|art|music|books|movies|sports|fashion|food|travel|parenting|
adoption|marriage|divorce|aging|death|grief|identity|gender|sexuality|community|volunteering|justice|war|peace|work|
retirement|careers|leadership|startups|marketing|social media|gaming|privacy|security|design|architecture|gardening"""

WHEN = """yesterday|today|this morning|last night|last week|last weekend|last month|last year|last summer|last Friday|
two days ago|a week ago|a few weeks ago|two months ago|three years ago|when I was ten|as a kid|in college|on Sunday|
on Tuesday|on my birthday|over the holidays|for Thanksgiving|for Christmas|on New Year's Eve|in January|in March|in May|
in July|in September|in October|in December|in 2019|in 2021|in 2022|in 2023|next week|next month|next summer|tomorrow|
this Saturday|the week before last|on the first of June|on 7 May 2023|on August 14|around noon|at six in the evening"""

QUALITY = """amazing|beautiful|peaceful|delicious|exhausting|hilarious|terrible|difficult|fun|inspiring|relaxing|emotional|
expensive|cheap|crowded|cozy|magical|scary|challenging|rewarding|boring|weird|powerful|awesome|lovely|gorgeous"""

AIM = """learn Spanish|save money|lose weight|eat healthier|run a marathon|write a book|start a business|travel more|
spend more time with family|get a degree|buy a house|find a new job|help other people|become a pilot|raise chickens|
get in shape|sleep better|read more|quit sugar|learn to cook|build an app|open a studio|finish the project|
make new friends|learn to sail|plan the wedding|fix my credit|move abroad|retire early"""

TASK = """deploy the new release|migrate the database|fix the login bug|review the pull request|write unit tests|
set up the server|update the documentation|parse the log file|sort a list of dictionaries|read a csv file|send an email|
book a flight|find a hotel|track my budget|convert a pdf|translate a document|summarize an article|edit a photo|
create a logo|plan a workout|schedule a meeting|search for research papers|check the weather|compare prices|
play a song|order groceries|draw a chart|calculate the taxes|generate a quiz|recommend a movie|find a recipe|
resize an image|connect to the api|cache the results|train a model|write a cover letter|practice interview questions"""

VERB = """sort|reverse|merge|split|filter|parse|format|print|read|write|open|close|delete|remove|replace|rename|copy|compare|
count|sum|round|convert|cast|encode|decode|encrypt|hash|compress|download|upload|send|receive|validate|check|test|mock|
iterate over|loop through|append to|insert into|index|slice|flatten|group|join|concatenate|randomize|shuffle|plot|draw|
resize|crop|rotate|normalize|scale|cache|log|serialize|deserialize|load|save|export|import|create|initialize|update|
get the length of|get the first element of|find the maximum of|find duplicates in|remove spaces from|iterate backwards over"""

OBJECT = """a list|a dictionary|a string|a tuple|a set|an array|a matrix|a data frame|a column|a row|a csv file|a json file|
an xml document|a yaml file|a text file|a zip archive|a directory|a file path|an environment variable|a config file|
a database table|a sql query|a url|an http request|a web page|a socket|a thread|a process|a queue|a stack|a heap|
a linked list|a tree|a graph|a regular expression|a date|a timestamp|a timezone|an integer|a float|a boolean|a byte array|
a unicode string|an exception|a generator|an iterator|a class|an object|an attribute|a function|a decorator|a module|
a command line argument|a log message|a stack trace|an image|a histogram|a scatter plot|a password|a token|a certificate|
an email|a pdf|a spreadsheet|a nested list|a list of lists|a sparse matrix|a random number|a substring|whitespace"""

LANGUAGE = "python|go|javascript|bash|sql|java|pandas|numpy|the command line|typescript"

FORMS = """I {activity} {when} and it was so {quality}!|{name} and I {activity} {when}.|My {relation} {activity} {when}.|
Hey {name}! How have you been? I {activity} {when}.|Guess what, I {activity} {when}! I felt so {feeling}.|
That sounds {quality}! I've always wanted to try {hobby}.|I've been feeling {feeling} since I {activity}.|
My {relation} gave me a {thing} for my birthday, I love it.|We're planning a trip to {place} {when}.|
I work as a {job} and my {relation} is a {job}.|I used to be a {job}, but now I want to {aim}.|
I'm thinking about becoming a {job} because I care about {topic}.|My {pet} is called {name} and loves to play.|
We got a {pet} named {name} {when}.|I have {health}, so the doctor told me to rest.|
I was diagnosed with {health} {when} and it has been {quality}.|My favorite food is {food}, but I also like {food}.|
I made {food} with my {relation} {when}, here's a picture.|I love {hobby}, it helps me feel {feeling}.|
{hobby} and {hobby} are my favorite ways to relax.|My {relation} is into {hobby} and {hobby}.|
We moved here from {place} {when}.|I grew up in {place} with my {relation}.|I'm going to {place} with my {relation} {when}.|
I bought a {thing} and a {thing} {when}.|I lost my {thing} somewhere in {place}.|My goal is to {aim} {when}.|
I really want to {aim} and {aim}.|What made you want to {aim}?|How did you get into {hobby}?|Do you have any {pet}s?|
Have you ever been to {place}?|What do you think about {topic}?|I read a book about {topic} and {topic}.|
We talked about {topic} {when}, it was {quality}.|Thanks {name}, your support means a lot. I'm {feeling}.|
I'm so {feeling} for you, {name}! Congrats!|Sorry to hear that, {name}. It must be {quality}.|
Yeah, my {relation} and I {activity}. The {thing} was {quality}.|Cool! Is that your {thing}?|
When did {name} go to {place}?|What did {name} do {when}?|Where did {name} move from?|What is {name}'s job?|
What instrument does {name} play?|What kind of {thing} did {name} buy?|Who went with {name} to {place}?|
How long has {name} been doing {hobby}?|What are {name}'s hobbies?|What pets does {name} have?|
Why is {name} interested in {topic}?|What does {name} want to do in the future?|How does {name} feel about {topic}?|
What health problem does {name}'s {relation} have?|What did {name} make for {name}?|Would {name} enjoy {hobby}?|
Which book did {name} recommend?|How many times has {name} been to {place}?|When is {name}'s birthday?|
{name} likes {hobby}, {hobby} and {food}.|{name} works as a {job} in {place}.|{name} {past} {when}.|
{name}'s {relation} has {health}.|{name} prefers {food} over {food}.|The user wants to {aim}.|
The user asked how to {task}.|Can you help me {task}?|I need to {task} and {task} {when}.|How do I {task}?|
Please {task} before {name} arrives.|What is the best way to {task}?|A tool that helps people {task}.|
An app for {hobby} that lets you {task}.|Remind me to {task} {when}.|The meeting with {name} about {topic} is {when}.|
We decided to {task} because of {topic}.|I spent ${number} on a {thing}.|It cost {number} dollars.|
I've been doing {hobby} for {number} years.|My {relation} turned {number} {when}.|I ran {number} miles {when}.|
There is a {thing} on the {thing}.|I saw a {pet} next to a {thing} at {place}.|
My {relation} and my {relation} argued about {topic}.|I'm learning about {topic} for my job as a {job}.|
Take care {name}! Talk to you soon.|Wow {name}, that {thing} looks {quality}!|No worries, I was just {feeling} {when}."""

PROGRAMMING = """how to {verb} {object} in {language}|{language} {verb} {object}|{language} how to {verb} {object}|
check if {object} is empty in {language}|{language} code to {verb} {object}|{verb} {object} and {verb} {object} {language}"""


def options(block: str) -> list[str]:
    return [o.strip() for o in block.split("|") if o.strip()]


SLOTS = {
    "name": NAMES, "relation": options(RELATION), "activity": options(ACTIVITY), "thing": options(THING),
    "place": options(PLACE), "job": options(JOB), "feeling": options(FEELING), "health": options(HEALTH),
    "food": options(FOOD), "hobby": options(HOBBY), "pet": options(PET), "topic": options(TOPIC),
    "when": options(WHEN), "quality": options(QUALITY), "aim": options(AIM), "task": options(TASK),
    "verb": options(VERB), "object": options(OBJECT), "language": options(LANGUAGE),
    "number": [str(n) for n in (2, 3, 5, 7, 10, 12, 15, 18, 20, 25, 30, 40, 50, 75, 80, 100, 250, 500, 1000)],
    "past": [a.replace(" my ", " the ").replace(" our ", " their ") for a in options(ACTIVITY)],
}
ALL_FORMS = options(FORMS)
PROGRAMMING_FORMS = options(PROGRAMMING)


def fill(rng: random.Random, forms: list[str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda m: rng.choice(SLOTS[m.group(1)]), rng.choice(forms))


def turn(rng: random.Random) -> str:
    """One to three forms filled and joined, half of them behind a speaker's name."""
    parts = [fill(rng, ALL_FORMS) for _ in range(rng.choice((1, 1, 1, 2, 2, 3)))]
    text = " ".join(p[:1].upper() + p[1:] for p in parts)
    return f"{rng.choice(NAMES)}: {text}" if rng.random() < 0.3 else text


def turns(rng: random.Random, count: int) -> list[str]:
    """count turns; the same seed gives the same turns."""
    return [turn(rng) for _ in range(count)]


def programming(rng: random.Random, count: int) -> list[str]:
    """count short questions of programmers."""
    return [fill(rng, PROGRAMMING_FORMS) for _ in range(count)]

"""Titles of real articles that the web app lists for a subject, to be read by a person.

    python benchmarks/subject_titles.py DIR [--model hybrid] [--subjects 1,5]

DIR is a collection of `../shared/data/wikipedia-sample` with an index. Of each subject the first 50 articles of the
list that the app makes with its defaults are printed with the first words of their text. The rules about what a title
asks for (`ranking/subject.py`) were made while reading the first twenty; the next twenty, then subjects 41 to 60, and
then those to 80 were fixed before they were read. All of these were at hand when the rules of the app
were made that came before evidence with weights (`app/articles/on_subject.py`). Titles without keywords were fixed
before they were read: 32 and 32, after each of which the rules were corrected, and twelve, after which they were not.
The next ninety were fixed before they were read, in three readings of twenty and of ten with one country or gender;
after each of them weights were fitted again. After a fourth reading, of the next thirty, nothing was changed. The last
thirty were read when trees decided (`subject_labels.py`).
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from evenrank.app.lists.work_list import make_list
from evenrank.app.request.question import Question
from evenrank.app.settings import WebSettings
from evenrank.app.state import open_state
from evenrank.retrieval.model_choice import choose_model
from evenrank.trec.collection import as_collection
from subjects import read_openings

N_READ, N_LETTERS = 50, 160
SUBJECTS = """
Nigerian history: Nigeria, Yoruba, Igbo, Biafra, Sokoto Caliphate
Military history of Scotland: Jacobite, regiment, clan, battle
Indian cinema: Bollywood, Hindi film, Tamil film
Women scientists: physicist, chemist, biologist
Women artists: painter, sculptor, photographer
Women's football: footballer, FIFA Women's World Cup, league
History of Brazil: Brazil, Portuguese, slavery, empire
Schools: high school, secondary school, education
Songs: song, single, ballad
Books: book, novel, publisher
Crime biography: criminal, murderer, gangster
World War II military history: regiment, battle, division, invasion
Former countries: kingdom, empire, state
Musicians: guitarist, pianist, composer
Volcanoes: volcano, lava, eruption
Medicine: disease, surgery, therapy
Engineering: engineer, mechanical, bridge
Jewish history: Jews, Judaism, Holocaust, rabbi
Climate change: global warming, greenhouse gas, carbon dioxide
Chess: chess, grandmaster
Women writers: poet, novelist, journalist
Women's rights: suffrage, feminism, activist
Culture of Japan: Japanese, anime, tea ceremony, festival
History of Poland: Poland, Polish, Warsaw, partition
Music of Jamaica: reggae, ska, dancehall
Politics of Kenya: Kenya, election, parliament
Football clubs: football club, league, stadium
Bridges: bridge, suspension bridge, arch
Museums: museum, gallery, collection
Ancient Rome: Roman, emperor, senate
American Civil War: Confederate, Union Army, battle
Buddhism: Buddha, monk, temple
Astronomers: astronomer, telescope, observatory
Languages: language, dialect, grammar
Former railway lines: railway, station, closed
Video games: video game, Nintendo, arcade
Economics: economist, market, trade
Cricketers: cricketer, batsman, bowler
Lakes: lake, reservoir
Vaccination: vaccine, immunity, measles
History of Mexico: Mexico, Aztec, revolution, conquest
Culture of India: Hindu, festival, dance, cuisine
Women composers: composer, pianist, opera
Geography of Canada: province, river, lake
Women in politics: minister, parliament, mayor
Turkish cinema: film, director, actor
Astronomy: star, galaxy, planet
Philosophy: philosopher, ethics, metaphysics
Dinosaurs: dinosaur, fossil, Cretaceous
Poets: poet, poetry, verse
Birds: bird, species, plumage
Airports: airport, runway, airline
Computer science: algorithm, programming, software
Rock bands: band, rock, guitarist
Television series: television, sitcom, episode
Human rights: rights, activist, discrimination
Cold War: Soviet Union, nuclear, spy
Olympic athletes: Olympics, medal, athlete
Mythology: god, goddess, myth
Railway stations: station, railway, platform
Women journalists: editor, reporter, newspaper
History of China: dynasty, emperor, Chinese
Irish literature: poet, novel, playwright
Women athletes: sprinter, Olympic, medal
Religion in Egypt: Coptic, Islam, mosque
Music of Brazil: samba, bossa nova, singer
Physics: quantum, particle, relativity
Chemistry: molecule, reaction, acid
Butterflies: butterfly, wing, species
Films: film, director, actor
Baseball players: pitcher, baseball, team
Mountains: mountain, peak, summit
Newspapers: newspaper, daily, editor
Psychology: psychologist, cognitive, behavior
Cities: city, mayor, population
Aircraft: aircraft, fighter, wing
Judaism: rabbi, synagogue, Torah
Albums: album, studio album, record
Programming languages: programming language, compiler, syntax
Elections: election, vote, candidate
Vietnam War
Korean cinema
Women in aviation
Music of Ireland
History of Hungary
Italian painters
Norwegian literature
Tennis players
Solar energy
Snakes
Genetics
Spiders
Women's tennis
Women mathematicians
Rugby players
Islam in Indonesia
Whales
Hurricanes
Cathedrals
Sikhism
Women film directors
Women swimmers
Women in the military
Women in law
Swedish politics
Geography of Norway
Iranian cinema
Music of Cuba
History of Ireland
Japanese architecture
South African cricket
Education in Pakistan
Lizards
Photographers
Electric cars
Monasteries
Korean War
Psychiatry
Basketball players
Frogs
Immunology
Surfing
Novelists
Coral reefs
Russian composers
Greek cuisine
Women in engineering
History of Vietnam
Spanish football
Universities in Germany
Chinese literature
Trams
Nigerian writers
German scientists
Women golfers
Women in education
Women diplomats
Transport in Switzerland
Ukrainian sport
History of Denmark
Argentine cinema
Geography of Chile
Music of Portugal
Dutch painters
Swedish painters
Polish cinema
Irish politicians
Geography of Kenya
History of Sweden
Korean music
Women in medicine
Women cyclists
Italian football
Thai politics
Colombian writers
Women's volleyball
Russian literature: novel, poet, playwright
Scottish football: footballer, club, league
Culture of Vietnam: festival, cuisine, music
Politics of Ghana: parliament, election, minister
Women architects: architect, building, design
Women novelists: novel, author, fiction
Orchids: orchid, flower, epiphyte
Waterfalls: waterfall, cascade, falls
Sculptors: sculptor, sculpture, statue
Magazines: magazine, monthly, editor
Operas: opera, libretto, aria
Geology: rock, mineral, fault
Linguistics: grammar, phonology, syntax
Slavery: slave, plantation, abolition
Space exploration: spacecraft, orbit, NASA
French Revolution: Paris, guillotine, Jacobin
Lighthouses: lighthouse, beacon, keeper
Beetles: beetle, species, larva
Computer games: game, player, console
Cancer: tumor, oncology, chemotherapy
Spanish painters: painter, portrait, museum
History of Romania: Wallachia, Transylvania, prince, war
Music of Sweden: singer, band, album
Geography of Peru: river, mountain, province
Bangladeshi politics: party, election, minister
Austrian composers: composer, symphony, opera
Philippine cinema: film, actress, director
Women explorers: expedition, traveller, mountaineer
Women lawyers: lawyer, judge, court
Women's basketball: basketball, WNBA, forward
French literature: novel, poet, playwright
German cinema: film, director, actor
Culture of Korea: festival, cuisine, traditional
Politics of Canada: parliament, election, minister
Women photographers: photographer, portrait, exhibition
Women chess players: chess, grandmaster, tournament
Snails: snail, mollusc, shell
Islands: island, archipelago, coast
Philosophers: philosopher, ethics, metaphysics
Television channels: television, channel, broadcast
Board games: game, player, dice
Oceanography: ocean, current, marine
Anthropology: culture, ethnography, kinship
Piracy: pirate, ship, privateer
Nuclear power: reactor, nuclear, power station
Russian Revolution: Bolshevik, Lenin, soviet
Castles: castle, fortress, moat
Ants: ant, colony, species
Robotics: robot, automation, actuator
Diabetes: insulin, glucose, diabetes
Dutch football: footballer, club, league
History of Scotland: king, clan, battle
Music of Nigeria: singer, Afrobeat, album
Geography of New Zealand: river, mountain, lake
Indian writers: novelist, poet, author
Sport in Kenya: athlete, runner, marathon
Religion in India: Hindu, temple, Sikh
Women rowers: rower, regatta, Olympic
Women historians: historian, professor, history
Women's cricket: cricket, batsman, bowler
American literature: novel, poet, playwright
British cinema: film, director, actor
Culture of Turkey: festival, cuisine, traditional
Politics of Bangladesh: parliament, election, minister
Women mountaineers: climber, summit, expedition
Women journalists of India: journalist, newspaper, editor
Fungi: fungus, mushroom, spore
Rivers: river, tributary, basin
Linguists: linguist, grammar, phonology
Radio stations: radio, station, broadcast
Card games: card, player, deck
Meteorology: weather, storm, atmosphere
Sociology: sociologist, society, class
Espionage: spy, intelligence, agent
Wind power: turbine, wind farm, electricity
Crusades: crusader, Jerusalem, knight
Palaces: palace, royal, residence
Bees: bee, hive, species
Cryptography: cipher, encryption, key
Malaria: mosquito, parasite, fever
German football: footballer, club, league
History of England: king, battle, parliament
Music of Norway: singer, jazz, album
Geography of Chile: river, volcano, region
French painters: painter, portrait, museum
Sport in Australia: cricketer, rugby, champion
Religion in Japan: Buddhist, Shinto, temple
Women skiers: alpine skier, Olympic, slalom
Women poets: poet, poetry, verse
Women's volleyball: volleyball, team, league
History of Portugal: Lisbon, Portuguese Empire, Salazar
Military history of Canada: regiment, battle, Canadian Forces
Women philosophers: philosopher, ethics, feminism
Culture of Peru: Inca, Quechua, festival
Women rowers: rowing, Olympics, sculls
Universities: university, campus, college
Rivers: river, tributary, basin
Painters: painting, artist, exhibition
Operas: opera, libretto, composer
Warships: destroyer, cruiser, navy
Mathematics: theorem, algebra, mathematician
Christianity: church, Jesus, Bible
Jazz: jazz, saxophone, big band
Cycling: cyclist, Tour de France, bicycle
Epidemics: epidemic, virus, outbreak
Renaissance: Renaissance, humanism, Florence
Astronauts: astronaut, spaceflight, NASA
Comics: comic book, superhero, manga
Trees: tree, forest, timber
World War I: trench, battle, armistice
Women chemists: chemist, chemistry, research
Women's basketball: basketball, WNBA, player
Women judges: judge, court, law
Politics of Nigeria: Nigeria, senator, governor
Finnish music: Finland, band, composer
Geography of Iceland: Iceland, glacier, fjord
Malaysian politicians: Malaysia, minister, parliament
Danish football: Denmark, footballer, Superliga
Hungarian writers: Hungary, novelist, poet
Chilean history: Chile, Santiago, Pinochet
Archaeology: excavation, artifact, Bronze Age, tomb
Physicians: doctor, physician, medical school, hospital
Drummers: drummer, percussion, band
Bays and straits: bay, strait, gulf, channel
Shopping malls: mall, retail, stores
Biochemistry: protein, enzyme, amino acid
Thermodynamics: heat, entropy, temperature
Musical theatre: Broadway, musical, lyricist, West End
Martial arts: judo, karate, taekwondo
Islam: Quran, Muhammad, mosque, caliph
Protestant Reformation: Luther, Calvin, Anabaptist
American Revolution: Continental Congress, Loyalist, militia
Data storage: disk, tape, file format
Riots and protests: riot, demonstration, uprising
Flies: fly, mosquito, Diptera, genus
History of Germany: Prussia, Bismarck, Weimar Republic
Politics of Australia: senator, Labor Party, Liberal Party, parliament
Sport in Romania: gymnast, handball, footballer
Women dancers: ballerina, choreographer, dance
Women in religion: nun, abbess, missionary, saint
History of the Netherlands: Dutch Republic, William of Orange, Amsterdam
Music of Canada: singer, band, Juno Award
Geography of France: commune, river, department
Politics of Germany: Bundestag, chancellor, CDU, SPD
Italian cinema: film, director, actor
Argentine football: footballer, Primera División, club
Australian literature: novelist, poet, author
Military history of Poland: army, uprising, battle, general
Women screenwriters: screenplay, television writer, film
Women badminton players: badminton, doubles, shuttlecock
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--model", default="untrained")
    parser.add_argument("--subjects", default="", help="numbers, from 1; by default all")
    options = parser.parse_args()
    lines = [line.partition(": ") for line in SUBJECTS.strip().splitlines()]
    chosen = [int(number) for number in options.subjects.split(",") if number] or range(1, len(lines) + 1)
    texts, model = read_openings(), choose_model(as_collection(options.folder), options.model)
    with tempfile.TemporaryDirectory() as folder:
        state = open_state(options.folder, WebSettings(store=Path(folder) / "desk.sqlite", model=model))
        for number in chosen:
            title, _, keywords = lines[number - 1]
            found = make_list(state, Question(title, tuple(filter(None, keywords.split(", ")))))
            print(f"\n{number} {title} ({keywords}): {len(found.page_ids)} articles")
            for place, page_id in enumerate(found.page_ids[:N_READ].tolist()):
                said = " ".join(texts[page_id].split())[:N_LETTERS]
                print(f"{place + 1:3d} {said} [{', '.join(found.reasons.of(place))}]", flush=True)
        state.close()


if __name__ == "__main__":
    main()

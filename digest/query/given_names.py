"""Given names that many people bear, so that `John Lindquell` alone on a line is plainly somebody.

Folded, and without those that are words of science or of every day, too (Adam, Bin, Grace, Mark, Max, Ray …).
"""

from __future__ import annotations

from typing import Final

_NAMES = """
aaron abdul abdullah abhishek abigail aditya adrian adriana agnes ahmad ahmed aiko akash akira alain alan
albert alberto alejandro aleksandr alessandra alessandro alex alexander alexandra alexandre alexei alfred ali
alice alicia alison allen amanda amelia amina amir amit amy ana anastasia anders andre andrea andreas andrei
andrew andrzej angela angelo anil anita anjali ankit anna anne annette anthony antoine anton antonio arjun
arnaud artem arthur arun asha ashish ashley ayse aziz barbara bartosz beatrice beatriz ben benjamin benoit
bernard bernhard bharat bing bjorn boris brandon brenda brian bruno carl carla carlo carlos carmen carol
carolina caroline catherine cecilia celine cesar charles charlotte chen cheng chiara chris christina christine
christoph christophe christopher claire clara claudia claudio colin craig cristina daisuke dan daniel daniela
daniele danielle darren dave david davide deborah deepak denis dennis derek diana diego dimitri dimitris dinesh
dmitri dmitry dominik dominique donald dong dorothy douglas duncan edith edoardo eduardo edward elena eleonora
eliana elias elisa elisabeth elizabeth ellen elliot emanuele emil emilia emilie emilio emily emma emmanuel
enrico enrique eric erica erik erika ernest ernesto esther eugene eva evan evelyn fabian fabio fabrice fang
farid fatima federico felipe felix feng ferdinand fernando filip filippo florian fran frances francesca
francesco francisco franco francois frederic frederik friedrich gabriel gabriela gabriele gaurav geoffrey
george georges georgios gerald gerard gerhard giacomo gian giorgio giovanna giovanni giulia giulio giuseppe
gonzalo gordon graham greg gregory guido guillaume gustavo hamid hanna hannah hans hao harald haruki hassan
heather hector heidi heinrich helen helena helene henri henrik henry hideki hiroshi hiroyuki hong hua hugo hui
hussein ian ibrahim ignacio igor ines ingrid irene irina isabel isabella isabelle ivan jaakko jacek jacob
jacques jake jakob jakub james jan jane janet jason javier jean jeff jeffrey jennifer jens jeremy jerome jerzy
jessica jia jian jiang jin jing joan joanna joao joel johan johann johanna johannes john johnny jon jonas
jonathan jorge jose josef joseph joshua juan juha julian juliana julie julien julius jun jurgen justin kai
kamal karen karin karl karsten katarzyna kate katherine kathleen kathryn katja kazuki keiko keith kelly ken
kenji kenneth kenta kevin khaled kirill klaus kristen kristina krzysztof kumar kurt kyle lars laura laurent
leif lena leo leon leonardo leonid leonora liam lin linda ling lisa lorenzo louis louise luca lucas lucia lucie
ludwig luigi luis luiz lukas lukasz lydia maciej magdalena magnus mahmoud manuel marc marcel marcelo marcin
marco marcos marcus margaret maria mariana marie marina mario marion marius marta martha martin martina mary
massimo mateusz mathias mathieu matteo matthew matthias matthieu mauricio maurizio maxim maxime megan mehdi
mehmet mei melanie melissa michael michal michel michela michele michelle miguel mihai mikael mike mikhail ming
mohamed mohammad mohammed mohit monica monika morten mustafa nadia nancy naoki natalia natalie nathan neha neil
nicholas nick nicola nicolas nicole niels nikhil nikita nikola nikolai nikolaos nils nina nitin noah nora
norbert oleg olga oliver olivia olivier omar oscar oskar otto pablo paola paolo patricia patrick paul paula
pauline pavel pawel pedro peng peter petr petra philip philipp philippe pierre pietro ping piotr prakash pranav
priya qi qiang quentin rachel rafael rafal rahul raj rajesh rajiv ralf ralph ramesh ramon raphael raul ravi
raymond rebecca reinhard renato rene ricardo riccardo richard rita robert roberto rodrigo roger rohan rohit
roland rolf roman ronald rosa ross roy ruben rui rupert ruth ryan salvatore samantha samir samuel sandeep
sandra sanjay santiago sara sarah satoshi sean sebastian sebastien serge sergei sergey sergio shan shane sharon
shirley shu siddharth silvia simon simone sonia sophia sophie stefan stefania stefanie stefano stephan stephane
stephanie stephen steve steven stuart sunil suresh susan susanne sven svetlana sylvain takashi takeshi tamara
tao tatiana ted teresa teruo tetsuya theodore theresa thomas thorsten tim timo timothy tobias todd tom tomas
tomasz tommaso tony torsten tracy ulrich ursula valentin valentina valeria valerie vanessa vasily vera veronica
vijay vikram viktor vincent vincenzo vinod vivek vladimir walter wang wei wen werner wilhelm william wojciech
wolfgang xavier xia xian xiang xiao xin xing xu yan yannick yasmin yi yifan ying yong yoshua yosuke yu yuan yue
yuichi yuki yukio yulia yun yuri yusuke yves yvonne zachary zhang zhen zheng zoe zoltan
"""

GIVEN_NAMES: Final = frozenset(_NAMES.split())

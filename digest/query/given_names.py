"""Given names that many people bear, so that `John Lindquell` alone on a line is plainly somebody.

Folded, and without those that are words of science or of every day, too (Adam, Bin, Grace, Mark, Max, Ray …).
"""

from __future__ import annotations

from typing import Final

_NAMES = """
aaron abbas abdul abdullah abhijit abhinav abhishek abigail achim aditya adrian adriana adrien agnes ahmad
ahmed aiko ajay akash akihisa akira akshay alain alan albert alberto aldo alejandro aleksandr alessandra
alessandro alessia alessio alex alexander alexandra alexandre alexandru alexei alexey alexis alfonso alfred
alfredo ali alice alicia alireza alison allen amanda amelia amina amir amit amy ana anand anastasia anders
andras andre andrea andreas andrei andrej andres andrew andrey andrzej andy angela angelo anil animesh anirban
anita anjali ankit anna anne annette anthony antoine anton antonio antti arash ariel arijit arjun armin arnab
arnaud arno artem arthur artur arturo arun asha ashish ashley ashok atsushi audrey aurelien avinash ayse aziz
babak balazs baptiste barbara barry bartosz beatrice beatriz ben benedikt benjamin benoit bernard bernd
bernhard bertrand bharat bing bjorn boaz bogdan boris brandon brenda brendan brian bruno bryan camilo carl
carla carlo carlos carmen carol carolina caroline carsten catherine cecilia cedric celine cesar chad chandan
charles charlotte chen cheng chiara chris christian christina christine christoph christophe christopher
christos claire clara claudia claudio clemens colin craig cristian cristina csaba cyril daisuke damien dan
daniel daniela daniele danielle danilo dario darren dave david davide deborah deepak dejan denis dennis derek
diana didier diego dieter dimitar dimitri dimitrios dimitris dinesh dirk dmitri dmitry dmytro domenico dominic
dominik dominique donald dong dorothy douglas duncan dusan dylan edgar edith edoardo eduard eduardo edward
ehsan ekaterina elena eleonora eli eliana elias elisa elisabeth elise elizabeth ellen elliot emanuele emil
emilia emilie emilio emily emma emmanuel enrico enrique eric erica erick erik erika erin ernest ernesto esther
etienne eugene eugenio eva evan evelyn evgeny fabian fabien fabio fabrice fabrizio fang farid fatima federico
fedor felipe felix feng ferdinand fernando filip filippo florent florian fran frances francesca francesco
francis francisco franck franco francois franz fred frederic frederik fredrik friedrich gabor gabriel gabriela
gabriele gary gaurav geoffrey georg george georges georgios gerald gerard gerd gerhard giacomo gian gianluca
gilles giorgio giovanna giovanni giulia giuliano giulio giuseppe glenn gonzalo gordon graham greg gregor
gregory grzegorz guido guillaume guillermo gunter gustavo hadi hajime hamed hamid hanna hannah hannes hans hao
harald harry hartmut haruki hasan hassan heather hector heidi heinrich helen helena helene hendrik henri
henrik henry herbert herve hideki hideo hiroaki hiroki hiroshi hiroyuki hitoshi holger hong hossein howard hua
hugo hui hussein ian ibrahim ignacio igor ilya iman indranil ines ingrid ioannis irene irina isaac isabel
isabella isabelle istvan ivan izabela jaakko jacek jack jacob jacques jaime jake jakob jakub james jan jane
janet janos janusz jaroslaw jason javad javier jay jayant jean jeff jeffrey jennifer jens jeremie jeremy
jeroen jerome jerzy jesper jesse jessica jia jian jianfeng jiang jim jin jing jiri joachim joan joanna joao
joaquin jochen joe joel johan johann johanna johannes john johnny jon jonas jonathan jorg jorge jose josef
joseph joshua jozsef juan juha julian juliana julie julien julius jun junjie jurgen justin kai kamal karen
karin karl karsten katarzyna kate katharina katherine kathleen kathryn katja kaushik kazuki kazuo kazuyuki
keiko keisuke keith kelly ken kenji kenneth kenta kentaro kevin khaled kirill klaus koichi koji konrad
konstantin konstantinos krishna kristen kristina krzysztof kumar kurt kyle larry lars laszlo laura laurent
leif lena leo leon leonardo leonid leonora liam lin linda ling lisa loic lorenzo louis louise luca lucas lucia
luciano lucie ludovic ludwig luigi luis luiz lukas lukasz luke lydia maarten maciej mads magdalena magnus
mahdi mahmoud makoto malcolm manfred manuel marc marcel marcello marcelo marcin marco marcos marcus marek
margaret maria mariana marie marina mario marion marius mariusz marko markus marta martha martin martina
marton mary maryam masaaki masahiro masaki masao masashi masato masayuki massimiliano massimo mateusz mathias
mathieu matt matteo matthew matthias matthieu mattia mauricio maurizio mauro maxim maxime maximilian megan
mehdi mehmet mei melanie melissa michael michal michel michela michele michelle miguel mihai mikael mike
mikhail mikko ming miroslav mohamed mohammad mohammed mohit mohsen monica monika moritz morten morteza
muhammad mustafa nadia nancy naoki naoyuki natalia natalie nathan neal neha neil nicholas nick nicola nicolas
nicole niels nikhil nikita nikola nikolai nikolaos nikolay nikos nils nina nitin noah noam nora norbert ohad
oleg olga oliver olivia olivier omar oriol oscar oskar otto pablo panagiotis pankaj paola paolo partha
patricia patrick patrizio paul paula pauline paulo pavel pawel pedro peng pengfei petar peter petr petra phil
philip philipp philippe piero pierre pieter pietro ping piotr prakash pranav priya qi qiang quentin rachel
radu rafael rafal raffaele rahul rainer raj rajesh rajiv ralf ralph ramesh ramon raphael raul ravi raymond
rebecca reinhard remi renato rene reza ricardo riccardo richard rita robert roberto robin rodrigo roger rohan
rohit roland rolf romain roman ron ronald rosa ross roy ruben rudolf rui rupert ruth ryan ryuji ryuta saeed
salvatore sam samantha samir samuel sandeep sandra sandrine sandro sanjay santiago sara sarah sascha satoshi
sean sebastian sebastien serge sergei sergey sergio seth shan shane sharon shawn shinya shirley shlomo shoaib
shu shunsuke siddharth siddhartha silvano silvia simon simona simone sonia sophia sophie soren stanislav
stefan stefania stefanie stefano steffen stephan stephane stephanie stephen steve steven stuart suman sunil
suresh susan susanne sven svetlana sylvain tadashi tadeusz takaaki takahiro takao takashi takayuki takeshi
takuya tamara tamas tanmoy tao taro tatiana ted teresa teruo tetsuya theodore theresa thierry thomas thorsten
tigran tim timo timothy tobias todd tom tomas tomasz tomer tommaso tomohiro tony torsten tracy trevor tristan
tsuyoshi ulrich ursula uwe vadim vahid valentin valentina valeria valerie valerio vanessa vasileios vasily
vera veronica victor victoria vijay vikram viktor vincent vincenzo vinod vitaly vivek vladimir volker walter
wang wei weiwei wen werner wilhelm william wojciech wolfgang xavier xia xian xiang xiao xin xing xu yan yann
yannick yasmin yasushi yi yifan ying yoichi yonatan yong yoshihiro yoshio yoshiyuki yoshua yosuke yu yuan yue
yuichi yuji yuki yukio yulia yun yuri yury yusuke yuta yuval yuya yves yvonne zachary zhang zhen zheng zoe
zoltan
"""

GIVEN_NAMES: Final = frozenset(_NAMES.split())

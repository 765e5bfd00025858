// A box of one hexahedron and one of tetrahedra, apart from each other; made as plate.geo says,
// with -3.
Point(1) = {0, 0, 0};
Point(2) = {1, 0, 0};
Line(1) = {1, 2};
Transfinite Curve {1} = 2;
square[] = Extrude {0, 1, 0} { Line{1}; Layers{1}; Recombine; };
hexahedron[] = Extrude {0, 0, 1} { Surface{square[1]}; Layers{1}; Recombine; };
Point(101) = {4, 0, 0};
Point(102) = {6, 0, 0};
Line(101) = {101, 102};
Transfinite Curve {101} = 2;
base[] = Extrude {0, 1, 0} { Line{101}; Layers{1}; };
tetrahedra[] = Extrude {0, 0, 1} { Surface{base[1]}; Layers{1}; };
Physical Volume("box", 1) = {hexahedron[1]};
Physical Volume("wedges", 2) = {tetrahedra[1]};
Physical Surface("floor", 1) = {square[1], base[1]};
Physical Curve("edge", 1) = {1};

// Two materials side by side, triangles and quadrilaterals; coordinates that 16 digits hold.
//   for v in 22 41; do
//     gmsh -2 -format msh$v -o plate_$v.msh plate.geo
//     gmsh -2 -bin -format msh$v -o plate_${v}_binary.msh plate.geo
//   done
Point(1) = {0, 0, 0.5};
Point(2) = {1, 0, 0.5};
Point(3) = {2, 0, 0.5};
Point(4) = {3, 0.25, 0.5};
Point(5) = {3, 1, 0.5};
Point(6) = {2, 1, 0.5};
Point(7) = {1, 1, 0.5};
Point(8) = {0, 1, 0.5};
Line(1) = {1, 2}; Line(2) = {3, 2}; Line(3) = {3, 4}; Line(4) = {4, 5}; Line(5) = {5, 6};
Line(6) = {6, 7}; Line(7) = {7, 8}; Line(8) = {8, 1}; Line(9) = {2, 7}; Line(10) = {3, 6};
Curve Loop(1) = {1, 9, 7, 8}; Plane Surface(1) = {1};
Curve Loop(2) = {-2, 10, 6, -9}; Plane Surface(2) = {2};
Curve Loop(3) = {3, 4, 5, -10}; Plane Surface(3) = {-3};
Transfinite Curve {1:10} = 2;
Transfinite Surface {1:3};
Recombine Surface {2, 3};
Physical Surface("steel", 10) = {1};
Physical Surface("rubber, glued", 4) = {2, 3};
Physical Curve("left", 2) = {8};
Physical Curve("bottom", 3) = {1, -2, 3};
Physical Curve("middle of bottom", 5) = {2};
Physical Curve(6) = {4};
Physical Point("corner", 1) = {4};
